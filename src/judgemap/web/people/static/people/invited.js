// Copies the text above with one judge's link in it. Without this script, the researcher copies both by hand.
const text = () => [...document.querySelectorAll("textarea.to-send")].find((each) => each.closest("details").open)
  ?? document.querySelector("textarea.to-send");

for (const button of document.querySelectorAll("[data-copy]")) {
  if (!navigator.clipboard) break;
  button.hidden = false;
  const label = button.textContent;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text().value.replaceAll("{link}", button.dataset.copy));
    button.textContent = button.dataset.copied;
    setTimeout(() => { button.textContent = label; }, 2000);
  });
}
