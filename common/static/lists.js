// The books of a reader's own list are dragged by their handles, with a mouse, a pen or a finger. Keyboards, and browsers
// without this script, move them by the buttons. data-sortable: the place of the first book on the page.
(() => {
  const EDGE = 80; // pixels from the edge of the window in which a drag scrolls the page
  const STEP = 12; // pixels

  const middle = (item) => item.getBoundingClientRect().top + item.offsetHeight / 2;

  const drag = (list, item, { target: handle, pointerId }) => {
    const before = [...list.children];
    handle.setPointerCapture(pointerId);
    item.classList.add("dragged");

    // Neighbours move around the dragged book, because it would lose the pointer if it left the page for a moment.
    const move = ({ clientY }) => {
      if (clientY < EDGE) scrollBy(0, -STEP);
      if (clientY > innerHeight - EDGE) scrollBy(0, STEP);
      while (item.nextElementSibling && clientY > middle(item.nextElementSibling)) item.before(item.nextElementSibling);
      while (item.previousElementSibling && clientY < middle(item.previousElementSibling)) item.after(item.previousElementSibling);
    };
    const stop = () => {
      handle.removeEventListener("pointermove", move);
      ["pointerup", "pointercancel"].forEach((type) => handle.removeEventListener(type, end));
      document.removeEventListener("keydown", cancel);
      item.classList.remove("dragged");
    };
    const cancel = ({ key }) => {
      if (key && key !== "Escape") return;
      stop();
      list.append(...before);
    };
    const end = (event) => {
      if (event.type === "pointercancel") return cancel(event);
      stop();
      const index = [...list.children].indexOf(item);
      if (index === before.indexOf(item)) return;
      const form = item.querySelector(".list-moves");
      form.elements.place.value = Number(list.dataset.sortable) + index;
      form.requestSubmit(form.querySelector("[value=move]"));
    };
    handle.addEventListener("pointermove", move);
    ["pointerup", "pointercancel"].forEach((type) => handle.addEventListener(type, end));
    document.addEventListener("keydown", cancel);
  };

  for (const list of document.querySelectorAll("[data-sortable]")) {
    for (const item of list.children) {
      const handle = item.querySelector(".drag-handle");
      handle.addEventListener("pointerdown", (event) => event.isPrimary && event.button === 0 && drag(list, item, event));
    }
  }
})();
