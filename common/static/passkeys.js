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
    if (form.ariaBusy) return; // the browser asks already, and would refuse to ask twice
    const error = form.querySelector("[data-passkey-error]");
    error.hidden = form.ariaBusy = true;
    send(form)
      .catch(() => {
        error.hidden = false;
      })
      .finally(() => {
        form.ariaBusy = null;
      });
  });
})();
