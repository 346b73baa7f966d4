// Update countdowns, and mark stock that is out of date. Without this script the page shows the state of its rendering.
const met = new WeakMap(); // the time when an element was first seen, at which its values were current
const since = (element) => {
  if (!met.has(element)) met.set(element, Date.now());
  return (Date.now() - met.get(element)) / 1000;
};
const two = (number) => String(number).padStart(2, "0");
let leaving = false;

const again = () => {
  if (leaving) return;
  leaving = true;
  // A random delay keeps all visitors from reloading at the same moment.
  setTimeout(() => location.reload(), 500 + 2500 * Math.random());
};

const tick = () => {
  document.querySelectorAll(".clock[data-left]").forEach((clock) => {
    const first = Number(clock.dataset.left);
    const left = Math.max(0, Math.ceil(first - since(clock)));
    if (left === 0 || Math.floor(left / 86400) !== Math.floor(first / 86400)) again();
    const shown = clock.querySelector("[data-clock]"); // only on the last day
    if (shown) shown.textContent =
      `${two(Math.floor(left / 3600) % 24)}:${two(Math.floor(left / 60) % 60)}:${two(left % 60)}`;
  });
  document.querySelectorAll("[data-age]").forEach((part) => {
    const age = Number(part.dataset.age) + since(part);
    part.querySelector(".stale").hidden = age <= Number(part.dataset.stale);
  });
};

tick();
setInterval(tick, 1000);
