// The search box in the header.
(() => {
  const input = document.getElementById("seek");
  if (!input) return;
  const { show } = attachListbox(input, document.getElementById("seek-list"));
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
