// Replace the progress of running jobs by that of the same page a second later, until all have ended.
"use strict";

const findRunning = () => document.querySelectorAll('[data-jobs="running"]');

async function refresh() {
  try {
    const response = await fetch(location.href);
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    for (const old of findRunning()) {
      const fresh = page.getElementById(old.id);
      if (fresh && old.isConnected) old.replaceWith(document.adoptNode(fresh));
    }
  } catch {
    // The server is away for a moment.
  }
  wait();
}

function wait() {
  if (findRunning().length) setTimeout(refresh, 1000);
}

document.addEventListener("DOMContentLoaded", wait);
