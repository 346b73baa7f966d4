// Estimate a new password while it is typed. The password stays in the browser. The estimator (zxcvbn-ts) and its words
// are loaded with the first letter, so a visitor who only reads the page does not load them.
(() => {
  const PAUSE = 400; // ms without a key, so that a screen reader does not read each estimate
  const part = document.querySelector("[data-strength]");
  const field = document.querySelector("input[autocomplete=new-password]");
  if (!part || !field) return;
  const [meter, said] = [part.querySelector("meter"), part.querySelector("[role=status]")];
  const labels = part.dataset.strength.split("|");
  const others = field.form.querySelectorAll("input[name=username], input[name=email]");
  field.after(part);
  part.hidden = false; // a screen reader announces changes of what is already shown
  let estimator;
  const load = async () => {
    const script = document.createElement("script");
    const loaded = new Promise((done, fail) => Object.assign(script, { onload: done, onerror: fail }));
    script.src = part.dataset.core;
    document.head.append(script);
    const [options] = await Promise.all([fetch(part.dataset.words).then((answer) => answer.json()), loaded]);
    return new zxcvbnts.core.ZxcvbnFactory(options);
  };
  const estimate = async () => {
    const found = await (estimator ??= load());
    const names = [...others].flatMap(({ value }) => value.split(/[@\s]+/)).concat(part.dataset.name, "diptych");
    const isShort = [...field.value.normalize("NFKC")].length < Number(part.dataset.least); // the server refuses it
    const score = isShort ? 0 : found.check(field.value, names.filter((name) => name.length > 2)).score;
    meter.hidden = !field.value;
    meter.value = score + 1;
    said.textContent = field.value ? labels[score] : "";
  };
  let pause;
  field.addEventListener("input", () => {
    clearTimeout(pause);
    // Without the estimator there is no estimate: the page has the advice, and the server decides.
    pause = setTimeout(() => estimate().catch(() => part.remove()), PAUSE);
  });
})();
