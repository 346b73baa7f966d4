// Run axe-core. Return its violations, and the appearances of text whose contrast has passed, which the caller gives to
// the next run. Contrast takes most of the time. It depends on the styles of an element and of its ancestors, so text
// of one appearance is checked until axe passes it once.
async ([context, rules, passed]) => {
  const hashes = new Map();
  const digest = (text) => {
    let [a, b] = [0xdeadbeef, 0x41c6ce57];
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      a = Math.imul(a ^ code, 2654435761);
      b = Math.imul(b ^ code, 1597334677);
    }
    return `${(a >>> 0).toString(36)}${(b >>> 0).toString(36)}`;
  };
  const appearance = (element) => {
    if (!element) return "";
    if (!hashes.has(element)) {
      const style = getComputedStyle(element);
      const own = [
        element.localName, element.getAttribute("class"), style.color, style.backgroundColor, style.backgroundImage,
        style.opacity, style.filter, style.mixBlendMode, style.position, style.fontSize, style.fontWeight,
        style.textShadow,
      ];
      hashes.set(element, digest([appearance(element.parentElement), ...own].join("|")));
    }
    return hashes.get(element);
  };
  const hasText = (element) =>
    element.matches("input, select, textarea, option") ||
    [...element.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.nodeValue.trim());

  const known = new Set(passed);
  const fresh = [...document.querySelectorAll("body *")].filter((e) => hasText(e) && !known.has(appearance(e)));
  for (const element of fresh) element.setAttribute("data-fresh", "");
  axe.configure({ rules: [{ id: "color-contrast", selector: "[data-fresh]" }] });
  const reporter = (results, options, done) => done(results); // without descriptions and selectors of passed elements
  const results = await axe.run(context, { rules, reporter, preload: { assets: ["media"] }, selectors: false });
  for (const element of fresh) element.removeAttribute("data-fresh");

  const describe = ({ node, any, all, none }) =>
    `${node.source.slice(0, 160)}: ${[...any, ...all, ...none].map((check) => check.message).join("; ")}`;
  const contrast = results.find((rule) => rule.id === "color-contrast");
  return {
    violations: results.flatMap((rule) => rule.violations.map((found) => `${rule.id}: ${describe(found)}`)),
    passed: [...new Set((contrast?.passes ?? []).map(({ node }) => appearance(node.element)))],
  };
};
