// htmx reads this when the page is parsed. Pages have neither inline styles nor inline scripts, and none is kept.
Object.assign(htmx.config, {
  includeIndicatorStyles: false,
  defaultSettleDelay: 0,
  allowEval: false,
  selfRequestsOnly: true,
  historyCacheSize: 0,
  refreshOnHistoryMiss: true,
  responseHandling: [
    { code: "204", swap: false },
    { code: "[23]..|400|409|429", swap: true },
    { code: "...", swap: false, error: true },
  ],
});

// If a part of a page fails to load, open the whole page (for a form: the page in data-way), which shows the error.
// Parts that poll try again instead.
const goThere = ({ detail: { elt, pathInfo } }) =>
  elt.matches("[data-poll]") || location.assign(elt.dataset.way ?? pathInfo.requestPath);
document.addEventListener("htmx:responseError", goThere);
document.addEventListener("htmx:sendError", goThere);

// Elements with data-poll="10" get the event "poll" every 10 seconds, or every 60 seconds while the page is hidden.
let polled = Date.now();
const poll = () => {
  const [first] = document.querySelectorAll("[data-poll]");
  if (!first || Date.now() - polled < 1000 * (document.hidden ? 60 : first.dataset.poll)) return;
  polled = Date.now();
  document.querySelectorAll("[data-poll]").forEach((part) => htmx.trigger(part, "poll"));
};
setInterval(poll, 1000);
document.addEventListener("visibilitychange", poll);

// The button of a normally submitted form is busy until the next page appears. htmx marks its own requests.
const BUSY_SECONDS = 10; // the answer may be a file, after which this page stays
document.addEventListener("submit", ({ defaultPrevented, submitter }) => {
  if (defaultPrevented || !submitter) return;
  submitter.ariaBusy = "true";
  setTimeout(() => submitter.removeAttribute("aria-busy"), 1000 * BUSY_SECONDS);
});
window.addEventListener("pageshow", () => {
  document.querySelectorAll("button[aria-busy]").forEach((button) => button.removeAttribute("aria-busy"));
});

// A date or a year that a reader enters beside a radio button chooses it.
document.addEventListener("input", ({ target }) => {
  const choice = target.closest?.(".when-choice")?.querySelector("[type=radio]");
  if (choice) choice.checked = true;
});

// A form that was kept during a login is sent at once. Without this script the page has a button.
document.querySelector("form[data-send-at-once]")?.requestSubmit();

// The buttons beside a quantity change it at once, and each press counts. Without this script the server does the sum.
document.addEventListener("click", (event) => {
  const button = event.target.closest?.("button[name=step]");
  if (!button) return;
  event.preventDefault();
  const field = button.form.elements.quantity;
  const wanted = Math.min(Number(field.value) + Number(button.value), Math.max(field.max, field.value));
  field.value = Math.max(field.min, wanted);
  htmx.trigger(field, "change");
});
// The new quantity has the step already. htmx sends the button that was pressed last with it.
document.addEventListener("htmx:configRequest", ({ detail }) => {
  if (detail.triggeringEvent?.type === "change") detail.formData.delete("step");
});

// What was added to the cart appears below the header, until the visitor does something else.
document.addEventListener("htmx:oobAfterSwap", ({ detail: { target } }) => {
  if (target.id !== "mini-cart" || !target.showPopover || target.matches(":popover-open")) return;
  target.showPopover({ source: document.activeElement }); // the next Tab goes into it
});
