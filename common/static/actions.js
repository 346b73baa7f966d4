// While htmx replaces a part of the page, further actions in that part wait, and are then done in the new part. Otherwise
// the second of two quick actions would be lost, because its control leaves the page before it can send anything.
// Elements with hx-sync follow that attribute instead.
(() => {
  const MAX_SHIFT = 10; // pixels that a pointer may move while it presses a control
  const replaced = new Map(); // the target of each running request, and the element that sent it
  let waiting = [];
  let isRefused = false; // whether the last answer was a refusal
  let pressed = null; // the control under the pressed button of the mouse, and its position

  const overlaps = (one, other) => one.contains(other) || other.contains(one);
  // An answer to a form may replace further parts, which have forms with the same address.
  const isSameForm = (one, other) => one.verb === "post" && other.verb === "post" && one.path === other.path;
  const isBlocked = (action) => [...replaced.values()].some((other) => overlaps(other.target, action.elt) || action.target.contains(other.elt) || isSameForm(action, other));
  const getName = (control) => control.id || control.ariaLabel || control.textContent.trim();
  const findAgain = (control) => {
    if (control.isConnected) return control;
    const name = getName(control);
    return name && [...document.getElementsByTagName(control.tagName)].find((other) => getName(other) === name);
  };

  // Copy what the visitor typed and chose.
  const copyFields = (from, to) => {
    for (const old of from.elements) {
      if (!old.name || ["hidden", "submit"].includes(old.type)) continue;
      const field = [...to.elements].find(({ name, type, value }) => name === old.name && (type !== "radio" || value === old.value));
      if (!field) continue;
      if (field.type !== "radio") field.value = old.value;
      field.checked = old.checked;
    }
  };

  const repeat = ({ control, type }) => {
    // After a refusal the visitor stays, and reads the reason.
    if (isRefused && control.matches("a[data-waits]")) return;
    const found = findAgain(control);
    if (!found) return; // the first action removed it
    if (found !== control && found.form && control.form) copyFields(control.form, found.form);
    if (type === "click" || type === "submit") found.click();
    else htmx.trigger(found, type);
  };

  const addWaiting = (action) => {
    waiting = [...waiting.filter(({ control }) => control !== action.control), action];
  };

  const continueWaiting = () => {
    while (waiting.length && !isBlocked(waiting[0])) repeat(waiting.shift());
  };

  document.addEventListener("htmx:confirm", (event) => {
    const { elt, target, verb, path, triggeringEvent } = event.detail;
    const action = { elt, target, verb, path, control: triggeringEvent?.submitter ?? elt, type: triggeringEvent?.type };
    if (triggeringEvent?.type === "change") action.control = triggeringEvent.target;
    if (elt.closest("[hx-sync]") || !isBlocked(action)) return;
    event.preventDefault();
    // A second click on a button is not a second wish. A field is sent again, because it has a new value.
    const isRunning = action.type !== "change" && [...replaced.values()].some(({ control }) => control === action.control);
    if (isRunning) return;
    addWaiting(action);
  });
  // So does a link to a page that shows what is being sent (data-waits: of which part). An invalid field is not sent.
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-waits]");
    const invalid = link && document.querySelector(`${link.dataset.waits} input:invalid`);
    if (!link || !(invalid || isBlocked({ elt: link, target: link }))) return;
    event.preventDefault();
    if (invalid) return void invalid.reportValidity();
    link.ariaBusy = "true";
    addWaiting({ elt: link, target: link, control: link, type: "click" });
  });
  document.addEventListener("htmx:beforeSend", ({ detail: { elt, target, xhr, requestConfig } }) => {
    const { triggeringEvent, verb, path } = requestConfig;
    replaced.set(xhr, { elt, target, verb, path, control: triggeringEvent?.submitter ?? elt });
    xhr.addEventListener("loadend", () => {
      replaced.delete(xhr);
      isRefused = !xhr.status || xhr.status >= 400;
      continueWaiting();
    });
  });

  // Keep unsent input: in other forms of the replaced parts, and what was typed after the request in the form that sent it.
  document.addEventListener("htmx:beforeSwap", ({ detail: { requestConfig, shouldSwap, xhr } }) => {
    if (!shouldSwap) return;
    const isSent = (field) => field.form === requestConfig.elt && requestConfig.formData.get(field.name) === field.value;
    const unsent = [...document.querySelectorAll("main input[id], main textarea[id]")].filter(
      (field) => field.value !== field.defaultValue && !isSent(field) && !["hidden", "checkbox", "radio"].includes(field.type),
    );
    const focused = document.activeElement;
    xhr.addEventListener("loadend", () => unsent.forEach((old) => {
      const field = document.getElementById(old.id);
      if (!field || field === old) return;
      field.value = old.value;
      field.closest("details")?.setAttribute("open", "");
      if (old === focused) field.focus(); // the new part may have moved the focus
      // The browser reports a change only of text that was typed into this very field.
      field.addEventListener("blur", () => htmx.trigger(field, "change"), { once: true });
    }), { once: true });
  });

  // A control that is replaced while it is pressed gets no click.
  document.addEventListener("pointerdown", ({ target, button, clientX, clientY }) => {
    const control = button === 0 && target.closest("a, button");
    pressed = control ? { control, clientX, clientY } : null;
  });
  document.addEventListener("pointerup", ({ clientX, clientY }) => {
    const { control } = pressed ?? {};
    const isSteady = control && Math.hypot(clientX - pressed.clientX, clientY - pressed.clientY) < MAX_SHIFT;
    pressed = null;
    if (isSteady && !control.isConnected) repeat({ control, type: "click" });
  });
})();
