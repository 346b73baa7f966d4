// Suggestions below a field, in a listbox for the arrow keys (the ARIA combobox pattern).
const attachListbox = (input, list, { first = -1 } = {}) => {
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
    list.hidden = !isOpen;
    mark(isOpen ? first : -1);
    if (input.role === "combobox") input.setAttribute("aria-expanded", isOpen);
  };
  const move = (step) => {
    const { length } = options();
    if (list.hidden && length) show(true);
    if (!length) return;
    // Past both ends comes the typed text (-1), unless one option is always chosen.
    const next = active + step;
    mark(next < first ? length - 1 : next === length ? first : next);
  };
  const update = () => show(options().length > 0 && document.activeElement === input);
  input.addEventListener("keydown", (event) => {
    const chosen = options()[active];
    if (event.isComposing || (first >= 0 && list.hidden)) return;
    if (event.key === "ArrowDown") move(1);
    else if (event.key === "ArrowUp") move(-1);
    else if (event.key === "Escape" && !list.hidden) show(false);
    else if (event.key === "Enter" && chosen) chosen.click();
    else return;
    event.preventDefault();
  });
  return { show, update };
};
