// A page opened as a file may fetch no other one, so that the search would show titles alone.
if (location.protocol === "file:") {
  const fetched = window.fetch;
  window.fetch = (address, ...rest) => {
    const [page, text] = Object.entries(TEXTS).find(([name]) => String(address).split("#")[0].endsWith(name)) ?? [];
    if (page === undefined) return fetched(address, ...rest);
    const shown = document.createElement("div");
    shown.setAttribute("role", "main");
    shown.textContent = text;
    return Promise.resolve(new Response(shown.outerHTML));
  };
}
