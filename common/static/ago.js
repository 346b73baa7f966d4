// Show times as the visitor's clock does, and the age of each recent <time data-ago>. This happens in the browser, because
// a page may come from a cache, and the server does not know the time zone. Without this script pages show dates.
(() => {
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60]];
  const WEEK = 7 * 86400; // for older times the date is more useful
  const lang = document.documentElement.lang;
  const locale = lang === "en" ? "en-GB" : lang; // the formats of the server
  const words = new Intl.RelativeTimeFormat(lang); // "1 day ago", as the server writes
  const DAY = { dateStyle: "medium" };
  const STYLES = {
    full: { ...DAY, timeStyle: "short" },
    clock: { timeStyle: "short" },
    day: DAY,
    age: DAY,
    soon: { month: "short", day: "numeric", hour: lang.startsWith("zh") ? "2-digit" : "numeric", minute: "2-digit" },
  };
  const format = (time, style) =>
    new Intl.DateTimeFormat(locale, STYLES[style]).format(Date.parse(time.dateTime)).replace("Sept ", "Sep ");
  // A time with other words, and an age, has the time as its title.
  const localize = (time) => {
    const style = time.dataset.local;
    if (style === "age" || !time.title) time.textContent = format(time, style);
    if (time.title) time.title = format(time, "full");
    delete time.dataset.local;
  };
  const say = (time) => {
    const seconds = Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1000); // the clock of the browser may be slow
    if (seconds >= WEEK) return;
    const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? [];
    // Chinese pages have a space beside digits, as in the times that the server writes.
    const text = unit
      ? words.format(-Math.floor(seconds / length), unit).replace(/(\d)(?=\p{sc=Han})/u, "$1\xa0")
      : locale !== lang ? "just now" : "刚刚";
    if (time.textContent !== text) time.textContent = text;
  };
  const sayAll = () => {
    document.querySelectorAll("time[data-local]").forEach(localize);
    document.querySelectorAll("time[data-ago]").forEach(say);
  };
  document.addEventListener("htmx:afterSettle", sayAll);
  document.addEventListener("htmx:oobAfterSwap", sayAll);
  document.addEventListener("visibilitychange", sayAll);
  setInterval(sayAll, 10_000);
  sayAll();
})();
