// What could not be sent in the background is sent as forms are: what was typed is not lost, and the key posts it once.
const sendPlainly = (event) => {
  if (!event.target.matches(".composer")) return;
  event.stopPropagation();
  event.target.submit();
};
document.addEventListener("htmx:sendError", sendPlainly, true);
document.addEventListener("htmx:responseError", sendPlainly, true);

// Counts what is typed into a composer as people count (social/text.py decides; this only says it early).
(() => {
  if (!window.Intl?.Segmenter) return;
  const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const POINTS = 16; // a character of more parts counts as several
  const UNSEEN = /[\u00AD\u200B\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/g; // what comes along from other pages, and is taken away
  const length = (text) => {
    let count = 0;
    for (const { segment } of segmenter.segment(text.replace(UNSEEN, "").trim().normalize("NFC"))) count += Math.ceil([...segment].length / POINTS);
    return count;
  };
  const show = (field) => {
    const output = field.form?.querySelector(".composer-count");
    if (!output) return;
    const most = Number(output.dataset.most);
    const count = length(field.value);
    output.hidden = count === 0;
    output.value = `${count} / ${most}`;
    output.classList.toggle("over", count > most);
  };
  const fields = (root) => root.querySelectorAll(".composer textarea");
  document.addEventListener("input", (event) => event.target.matches(".composer textarea") && show(event.target));
  document.addEventListener("htmx:afterSettle", () => fields(document).forEach(show));
  fields(document).forEach(show); // what a browser has kept of an unfinished text
})();
