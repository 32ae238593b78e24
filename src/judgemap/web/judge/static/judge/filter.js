// A field that filters a long list of boxes, once there is a script.
export function filter() {
  const list = document.getElementById("list");
  const find = document.getElementById("find");
  if (!list || !find) return;
  find.hidden = false;
  find.querySelector("input").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLocaleLowerCase();
    for (const item of list.children) item.hidden = !item.textContent.toLocaleLowerCase().includes(wanted);
  });
}
