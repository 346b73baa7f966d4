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

// A short form stays open. A reply begins with the name of its reader, and the author goes on after it.
document.addEventListener("focusin", ({ target: field }) => {
  field.closest(".composer.short")?.classList.add("open");
  if (field.matches(".composer textarea") && field.value === field.defaultValue && !field.selectionEnd) field.setSelectionRange(field.value.length, field.value.length);
});

// Complete the names of readers after an @. A name may contain blanks, so the text up to the cursor is tried as one.
(() => {
  const BEFORE = /(?:^|[^\p{L}\p{N}_/=])[@＠]([^@＠\n]{2,60})$/u;
  const boxes = new WeakMap();
  const typed = (field) => BEFORE.exec(field.value.slice(0, field.selectionStart))?.[1];
  const makeBox = (field) => {
    const list = Object.assign(document.createElement("div"), { className: "seek-list names", role: "listbox", hidden: true });
    list.ariaLabel = field.dataset.names;
    field.after(list);
    list.id = `${field.id}-names`;
    field.setAttribute("aria-controls", list.id);
    const box = { list, timer: 0, unknown: null, ...attachListbox(field, list, { first: 0 }) };
    list.addEventListener("pointerdown", (event) => event.preventDefault()); // keeps the focus in the field
    list.addEventListener("click", (event) => {
      const name = event.target.closest("[data-name]")?.dataset.name;
      if (!name) return;
      field.setRangeText(`${name} `, field.selectionStart - (typed(field)?.length ?? 0), field.selectionStart, "end");
      box.show(false);
      field.dispatchEvent(new Event("input", { bubbles: true }));
    });
    field.addEventListener("blur", () => box.show(false));
    boxes.set(field, box);
    return box;
  };
  const load = async (field, box, name) => {
    box.asked = name;
    try {
      const response = await fetch(`${field.dataset.namesUrl}?${new URLSearchParams({ q: name })}`);
      const html = response.ok && !response.redirected ? await response.text() : "";
      // Not by htmx: the form, and the list in it, may have been replaced meanwhile.
      if (!box.list.isConnected || box.asked !== name) return;
      box.list.innerHTML = html;
      box.unknown = html.trim() ? null : name;
      box.update();
    } catch {
      box.show(false); // without suggestions
    }
  };
  document.addEventListener("input", ({ target: field }) => {
    if (!field.matches(".composer textarea")) return;
    const name = typed(field);
    const box = boxes.get(field) ?? (name && makeBox(field));
    if (!box) return;
    clearTimeout(box.timer);
    // No name begins with this: the text after the @ goes on, and no longer text can be a name either.
    if (!name || (box.unknown && name.startsWith(box.unknown))) return box.show(false);
    box.timer = setTimeout(() => load(field, box, name), 150);
  });
})();
