// Show times as the visitor's clock does, and the age of each <time data-ago>. This happens in the browser, because a page
// may come from a cache, and the server does not know the visitor's time zone. Without this script pages show dates.
(() => {
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const MONTH = 30 * 86400; // for older times the date is more useful
  const { lang } = document.documentElement;
  const words = new Intl.RelativeTimeFormat(lang, { numeric: "auto" });
  const STYLES = {
    clock: { timeStyle: "short" },
    day: { dateStyle: "long" },
    soon: { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" },
  };
  const FULL = { dateStyle: "long", timeStyle: "short" };
  // A time with other words has the time as its title.
  const localize = (time) => {
    const text = new Intl.DateTimeFormat(lang, STYLES[time.dataset.local] ?? FULL).format(Date.parse(time.dateTime));
    time[time.title ? "title" : "textContent"] = text;
    delete time.dataset.local;
  };
  const say = (time) => {
    const seconds = Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1000); // the clock of the browser may be slow
    const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ["second", 1];
    const count = seconds < 60 ? 0 : Math.floor(seconds / length); // "now" during the first minute
    const text = seconds < MONTH ? words.format(-count, seconds < 60 ? "second" : unit) : time.title;
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
