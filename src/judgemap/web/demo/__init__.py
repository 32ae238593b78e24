"""The finished study of `judgemap demo`, and the visits that check every page of it."""
