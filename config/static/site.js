// A part of a page could not be had: go to the whole page (of a form: where it leads), which says what is the matter.
// What polls asks again.
const goThere = ({ detail: { elt, pathInfo } }) =>
  elt.matches("[data-poll]") || location.assign(elt.dataset.way ?? pathInfo.requestPath);
document.addEventListener("htmx:responseError", goThere);
document.addEventListener("htmx:sendError", goThere);

// What has data-poll="10" is told "poll" every 10 seconds; every 60 while nobody looks.
let polled = Date.now();
const poll = () => {
  const [first] = document.querySelectorAll("[data-poll]");
  if (!first || Date.now() - polled < 1000 * (document.hidden ? 60 : first.dataset.poll)) return;
  polled = Date.now();
  document.querySelectorAll("[data-poll]").forEach((part) => htmx.trigger(part, "poll"));
};
setInterval(poll, 1000);
document.addEventListener("visibilitychange", poll);

// A form that is sent as forms are: its button is busy until the next page is there. htmx says so of its own by itself.
const BUSY_SECONDS = 10; // the answer may be a file, and this page stays
document.addEventListener("submit", ({ defaultPrevented, submitter }) => {
  if (defaultPrevented || !submitter) return;
  submitter.ariaBusy = "true";
  setTimeout(() => submitter.removeAttribute("aria-busy"), 1000 * BUSY_SECONDS);
});
window.addEventListener("pageshow", () => {
  document.querySelectorAll("button[aria-busy]").forEach((button) => button.removeAttribute("aria-busy"));
});
