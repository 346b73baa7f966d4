// The search box in the header: suggestions in a listbox for the arrow keys (the ARIA combobox pattern).
(() => {
  const input = document.getElementById("seek");
  const list = document.getElementById("seek-list");
  if (!input) return;
  let active = -1;
  const options = () => [...list.querySelectorAll("[role=option]")];
  const mark = (number) => {
    active = number;
    options().forEach((option, n) => option.setAttribute("aria-selected", n === active));
    const chosen = options()[active];
    if (chosen) input.setAttribute("aria-activedescendant", chosen.id);
    else input.removeAttribute("aria-activedescendant");
    chosen?.scrollIntoView({ block: "nearest" });
  };
  const show = (isOpen) => {
    mark(-1);
    list.hidden = !isOpen;
    input.setAttribute("aria-expanded", isOpen);
  };
  const move = (step) => {
    const { length } = options();
    if (list.hidden && length) show(true);
    if (length) mark(active < 0 && step < 0 ? length - 1 : active + step === length ? -1 : active + step);
  };
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.target === list) show(options().length > 0 && document.activeElement === input);
  });
  // Ignore failed suggestions, because the form still searches.
  const stay = (event) => event.target === input && event.stopPropagation();
  document.addEventListener("htmx:responseError", stay, true);
  document.addEventListener("htmx:sendError", stay, true);
  input.addEventListener("keydown", (event) => {
    const chosen = options()[active];
    if (event.isComposing) return;
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Escape" && !list.hidden) show(false);
    else if (event.key === "Enter" && chosen) chosen.click();
    else return;
    event.preventDefault();
  });
  input.form.addEventListener("focusout", ({ relatedTarget }) => input.form.contains(relatedTarget) || show(false));
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
    const isSlash = event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isSlash && !((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k")) return;
    event.preventDefault();
    input.focus();
    input.select();
  });
})();
