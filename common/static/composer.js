// If sending in the background fails, submit the form normally. No text is lost, and the form's key prevents duplicates.
const sendPlainly = (event) => {
  if (!event.target.matches(".composer")) return;
  event.stopPropagation();
  event.target.submit();
};
document.addEventListener("htmx:sendError", sendPlainly, true);
document.addEventListener("htmx:responseError", sendPlainly, true);

// Count the characters in a composer as people do. social/content/cleaning.py decides; this script only shows the count early.
(() => {
  if (!window.Intl?.Segmenter) return;
  const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });
  const POINTS = 16; // a character of more code points counts as several
  const UNSEEN = /[\u00AD\u200B\u202A-\u202E\u2060\u2066-\u2069\uFEFF]/g; // invisible characters of pasted text, which are removed
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
  fields(document).forEach(show); // the browser may have kept an unfinished text
})();
