// A button that takes a while says so, and cannot be pressed twice. Forms name what they do in data-busy.
for (const form of document.querySelectorAll("form[data-busy]")) {
  form.addEventListener("submit", (event) => {
    if (form.dataset.sent) return event.preventDefault();
    if (event.defaultPrevented) return;
    form.dataset.sent = "yes";
    const button = event.submitter ?? form.querySelector("button");
    button.dataset.label = button.textContent;
    button.setAttribute("aria-busy", "true");
    button.textContent = form.dataset.busy;
  });
}

// A form with a file shows how much of it has been sent, which may take minutes.
for (const form of document.querySelectorAll("form[data-sending]")) {
  form.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    event.preventDefault();
    const button = form.querySelector("[aria-busy]");
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.upload.addEventListener("progress", ({ loaded, total }) => {
      const share = Math.floor((100 * loaded) / total);
      button.textContent = share < 100 ? form.dataset.sending.replace("{share}", share) : form.dataset.busy;
    });
    request.addEventListener("load", () => {
      if (request.responseURL !== window.location.href) return window.location.assign(request.responseURL);
      document.open();
      document.write(request.responseText);
      document.close();
    });
    request.addEventListener("error", () => form.submit());
    request.send(new FormData(form));
  });
}

// If somebody comes back from the next page, the browser may show this one as it was left.
window.addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) {
    delete form.dataset.sent;
    const button = form.querySelector("[aria-busy]");
    button.removeAttribute("aria-busy");
    button.textContent = button.dataset.label;
  }
});

// A file above the limit is refused before it is sent: the server would only cut the connection.
for (const input of document.querySelectorAll("input[type=file][data-largest]")) {
  input.addEventListener("change", () => {
    const large = [...input.files].some((file) => file.size > Number(input.dataset.largest));
    input.setCustomValidity(large ? input.dataset.large : "");
    if (large) input.reportValidity();
  });
}

// On a phone, a study's pages are in one row that scrolls sideways: show where we are in it.
document.querySelector(".study nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
