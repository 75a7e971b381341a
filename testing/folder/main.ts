import { writeOddFiles } from "./folder.ts";

/** `node testing/folder/main.ts FOLDER COUNT` writes the files and prints what has to become of them. */
const [folder, count = "2000"] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder to write into.");
const fates = await writeOddFiles(folder, Number(count));
process.stdout.write(`${JSON.stringify(Object.fromEntries(fates))}\n`);
