// Answers the pages that a studio saves with `editable=True`: cepkit, as WebAssembly, in a worker.
// `make lite` puts the names of the packages in place of PACKAGES.
const pyodidePlace = new URL("static/pyodide/", location.href).href;
importScripts(`${pyodidePlace}pyodide.js`);

const ready = (async () => {
  const pyodide = await loadPyodide({ indexURL: pyodidePlace });
  const packages = PACKAGES.map((name) =>
    name.endsWith(".whl") ? new URL(name, location.href).href : name);
  await pyodide.loadPackage(packages, { messageCallback() {} });
  return pyodide.runPython("from cepkit_widgets.studio.editable import answer; answer");
})();

onmessage = async ({ data: [events, pattern] }) => {
  try {
    postMessage(JSON.parse((await ready)(events, pattern)));
  } catch (error) {
    postMessage({ error: String(error) });
  }
};
