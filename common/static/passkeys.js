// Passkeys: the browser creates or uses a passkey, and the form sends the result. data-passkey is "create" or "get".
(() => {
  const PARSERS = { create: "parseCreationOptionsFromJSON", get: "parseRequestOptionsFromJSON" };
  const send = async (form) => {
    const kind = form.dataset.passkey;
    const publicKey = PublicKeyCredential[PARSERS[kind]](JSON.parse(form.dataset.options));
    const credential = await navigator.credentials[kind]({ publicKey });
    form.elements.credential.value = JSON.stringify(credential);
    form.submit();
  };
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (!form.matches("[data-passkey]")) return;
    event.preventDefault();
    const error = form.querySelector("[data-passkey-error]");
    error.hidden = true;
    send(form).catch(() => {
      error.hidden = false;
    });
  });
})();
