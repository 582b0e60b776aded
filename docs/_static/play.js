// Runs dampen in the page, from the site's own files alone; see packaging/browser.py.
const here = new URL("pyodide/", import.meta.url);
const shown = document.getElementById("play-answer");
const inputs = ["rows", "epsilon", "times"].map((name) => document.getElementById(`play-${name}`));

async function start() {
  const found = await fetch(new URL("pyodide.mjs", here), { method: "HEAD" });
  if (!found.ok) throw new Error("no Pyodide");
  const { loadPyodide } = await import(new URL("pyodide.mjs", here));
  const python = await loadPyodide({ indexURL: here.href });
  await python.loadPackage(["numpy", "click", "platformdirs"]);
  for (const name of ["dampen.zip", "../play.py"]) {
    const file = await (await fetch(new URL(name, here))).arrayBuffer();
    if (name.endsWith(".zip")) python.unpackArchive(file, "zip");
    else python.FS.writeFile("play.py", new Uint8Array(file));
  }
  return python.runPython("import sys; sys.path.insert(0, '.'); import play; play.play");
}

let play;
document.getElementById("play-ask").addEventListener("click", async () => {
  shown.textContent = "Loading Python, once ...";
  try {
    play ??= await start();
    shown.textContent = play(...inputs.map((input) => Number(input.value)));
  } catch (problem) {
    shown.textContent = play
      ? `This cannot be asked: ${problem.message.trim().split("\n").pop()}`
      : "This copy of the site was built without Python for the browser. " +
        "`pip install dampen` and `dampen demo` show the same on your machine.";
  }
});
