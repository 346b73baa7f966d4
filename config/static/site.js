// A part of a page could not be had: go to the whole page, which says what is the matter.
document.addEventListener("htmx:responseError", (event) => location.assign(event.detail.pathInfo.requestPath));
document.addEventListener("htmx:sendError", (event) => location.assign(event.detail.pathInfo.requestPath));
