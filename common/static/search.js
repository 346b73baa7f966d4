// The search boxes in the header and on the front page.
(() => {
  for (const input of document.querySelectorAll(".seek-input")) {
    const list = document.getElementById(`${input.id}-list`);
    const { show, update } = attachListbox(input, list);
    list.addEventListener("htmx:afterSwap", update);
    // Ignore failed suggestions, because the form still searches.
    const stay = (event) => event.target === input && event.stopPropagation();
    document.addEventListener("htmx:responseError", stay, true);
    document.addEventListener("htmx:sendError", stay, true);
    input.form.addEventListener("focusout", ({ relatedTarget }) => input.form.contains(relatedTarget) || show(false));
  }
  const header = document.getElementById("seek");
  if (!header) return;
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest("input, textarea, select, [contenteditable]");
    const isSlash = event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey;
    if (!isSlash && !((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k")) return;
    event.preventDefault();
    // The front page of visitors has a box of its own.
    const box = header.checkVisibility?.() === false ? document.getElementById("find") : header;
    box?.focus();
    box?.select();
  });
})();
