"""Making a study in the browser: boundaries are uploaded, read at arm's length, and become a draft."""
