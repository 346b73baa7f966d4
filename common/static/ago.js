// Show the age of each <time data-ago>. This happens in the browser, because a page may come from a cache. The title
// keeps the exact time, which the page shows without this script.
(() => {
  const UNITS = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];
  const MONTH = 30 * 86400; // for older times the date is more useful
  const words = new Intl.RelativeTimeFormat(document.documentElement.lang, { numeric: "auto" });
  const say = (time) => {
    const seconds = Math.max(0, (Date.now() - Date.parse(time.dateTime)) / 1000); // the clock of the browser may be slow
    const [unit, length] = UNITS.find(([, length]) => seconds >= length) ?? ["second", 1];
    const count = seconds < 60 ? 0 : Math.floor(seconds / length); // "now" during the first minute
    const text = seconds < MONTH ? words.format(-count, seconds < 60 ? "second" : unit) : time.title;
    if (time.textContent !== text) time.textContent = text;
  };
  const sayAll = () => document.querySelectorAll("time[data-ago]").forEach(say);
  document.addEventListener("htmx:afterSettle", sayAll);
  document.addEventListener("visibilitychange", sayAll);
  setInterval(sayAll, 10_000);
  sayAll();
})();
