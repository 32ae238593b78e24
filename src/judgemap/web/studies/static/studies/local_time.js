// Times are sent in UTC and say so; with scripts, they are shown in the reader's own time zone, with its name.
const day = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
const language = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;
const formats = { minutes: new Intl.DateTimeFormat(language, day), seconds: new Intl.DateTimeFormat(language, { ...day, second: "2-digit" }) };

function localise(root) {
  for (const each of root.querySelectorAll("time[data-local]")) {
    each.title = each.textContent;
    each.textContent = formats[each.dataset.local].format(new Date(each.dateTime));
    delete each.dataset.local;
  }
}

localise(document);
document.addEventListener("htmx:afterSettle", () => localise(document));
