// Estimate a new password while it is typed. The password stays in the browser, and the server decides.
// Simple rules take 3 kB. The dictionaries of zxcvbn estimate better, but take 63 to 821 kB and contain insults.
(() => {
  const PAUSE = 400; // ms without a key, so that a screen reader does not read each estimate
  const LEAST_BITS = [8, 30, 45, 60]; // of "weak", "fair", "good" and "strong"
  const BITS_OF_LETTER = 2; // in a word, where the letters before it hint at it
  const ROWS = ["abcdefghijklmnopqrstuvwxyz", "01234567890", "qwertyuiop", "qwertzuiop", "azertyuiop", "asdfghjkl", "zxcvbnm"];
  const FREQUENT =
    "password passwort admin login welcome letmein iloveyou secret dragon monkey football sunshine princess master hello summer winter book reader diptych";
  const KINDS = [[/\p{Ll}|\p{Lo}/u, 26], [/\p{Lu}/u, 26], [/\d/, 10], [/[!-/:-@[-`{-~ ]/, 33], [/[^\0-\x7f]/, 100]];
  const part = document.querySelector("[data-strength]");
  const field = document.querySelector("input[autocomplete=new-password]");
  if (!part || !field) return;
  const [meter, said] = [part.querySelector("meter"), part.querySelector("[role=status]")];
  const labels = part.dataset.strength.split("|");
  const others = field.form.querySelectorAll("input[name=username], input[name=email]");
  const help = document.getElementById(`${field.id}-help`);
  (help ?? field.parentElement).prepend(part);
  part.hidden = false; // a screen reader announces changes of what is already shown

  const isRun = (text) => ROWS.some((row) => row.includes(text) || row.includes([...text].reverse().join("")));
  // A run of neighbours ("1234", "lkj") and a repeated character are as easy to guess as one character.
  const shortenRuns = (text) => {
    let [shorter, start] = ["", 0];
    while (start < text.length) {
      let end = start + 1;
      while (end < text.length && isRun(text.slice(start, end + 1))) end += 1;
      shorter += end - start > 2 ? text[start] : text.slice(start, end);
      start = end;
    }
    return shorter.replace(/(.)\1{2,}/gu, "$1");
  };
  const countBits = (password) => {
    const names = [...others].flatMap(({ value }) => value.split(/[@\s]+/)).concat(part.dataset.name);
    const known = [...names, ...FREQUENT.split(" ")].map((word) => word.toLowerCase()).filter((word) => word.length > 2);
    const rest = shortenRuns(known.reduce((text, word) => text.replaceAll(word, "\0"), password.toLowerCase()));
    const letters = (rest.match(/\p{Ll}{4,}/gu) ?? []).join("").length;
    const characters = KINDS.reduce((sum, [kind, size]) => sum + (kind.test(password) ? size : 0), 0);
    return letters * BITS_OF_LETTER + (rest.length - letters) * Math.log2(characters);
  };
  const estimate = () => {
    const isShort = [...field.value.normalize("NFKC")].length < Number(part.dataset.least); // the server refuses it
    const bits = isShort ? 0 : countBits(field.value);
    const score = LEAST_BITS.filter((least) => bits >= least).length;
    meter.hidden = !field.value;
    meter.value = score + 1;
    said.textContent = field.value ? labels[score] : "";
  };
  let pause;
  field.addEventListener("input", () => {
    clearTimeout(pause);
    pause = setTimeout(estimate, PAUSE);
  });
})();
