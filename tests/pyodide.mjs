// Runs a script of Python under Pyodide: node pyodide.mjs DISTRIBUTION WHEEL SCRIPT PACKAGE...
// Each PACKAGE is a folder of pure Python, as it is installed.
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const [distribution, wheel, script, ...packages] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(`${distribution}/pyodide.mjs`));
const pyodide = await loadPyodide({ env: { PYTHONHASHSEED: "0", HOME: "/home/pyodide" } });
pyodide.unpackArchive(new Uint8Array(readFileSync(wheel)), "wheel", { extractDir: "/packages" });
for (const folder of packages) {
  const place = `/packages/${basename(folder)}`;
  pyodide.FS.mkdirTree(place);
  pyodide.FS.mount(pyodide.FS.filesystems.NODEFS, { root: folder }, place);
}
pyodide.runPython(`
import sys, warnings
sys.path.insert(0, "/packages")
warnings.simplefilter("ignore")
`);
pyodide.runPython(readFileSync(script, "utf8"));
pyodide.runPython(`
import numpy, platform
print("Pyodide on Python", platform.python_version(), "NumPy", numpy.__version__, file=sys.stderr)
`);
