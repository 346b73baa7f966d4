// "Read more" below a review stands only where text is hidden, and opens the text in place. Without this script an
// estimate of the server decides, and the link leads to the page of the review.
(() => {
  // data-cut: the page has only the beginning of the text.
  const measure = ({ target }) => {
    const more = target.nextElementSibling;
    if (!more?.matches(".post-whole")) return;
    more.classList.remove("on-phones");
    more.hidden = !("cut" in more.dataset) && target.scrollHeight <= target.clientHeight + 1;
  };
  const observer = new ResizeObserver((changes) => changes.forEach(measure));
  // A text that is observed again is measured again.
  const measureAll = () => document.querySelectorAll(".post-part").forEach((text) => observer.observe(text));
  document.addEventListener("htmx:afterSettle", measureAll);
  document.fonts.ready.then(measureAll);
  measureAll();

  document.addEventListener("click", async (event) => {
    const link = event.target.closest?.(".post-whole a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    const more = link.closest(".post-whole");
    const target = more.previousElementSibling;
    const place = { source: link, target, swap: "outerHTML", select: ".alone .review-text" };
    await htmx.ajax("GET", link.pathname, place).catch(() => {}); // without an answer, site.js opens the page
    const whole = more.previousElementSibling;
    if (whole === target) return;
    if (!whole?.matches(".review-text")) return void location.assign(link.href); // it was deleted meanwhile
    whole.tabIndex = -1;
    whole.focus({ preventScroll: true });
    more.remove();
  });
})();
