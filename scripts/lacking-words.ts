import path from "node:path";
import { findCatalogueFaults, readTexts, translated } from "./check/find-catalogue-faults.ts";

const rootDir = path.resolve(import.meta.dirname, "..");
const [asked] = process.argv.slice(2);

/** Prints which texts each language lacks, with the English ones, and what is wrong with the others; of one language, if named. */
const source = readTexts(rootDir, "en");
for (const locale of translated.filter((one) => asked === undefined || one === asked)) {
  const { missing, extra, broken } = findCatalogueFaults(source, readTexts(rootDir, locale), locale);
  for (const key of missing) console.log(`${locale} lacks ${key}: ${JSON.stringify(source.get(key))}`);
  for (const key of extra) console.log(`${locale} has ${key}, which English no longer has`);
  for (const fault of broken) console.log(`${locale} ${fault}`);
  console.log(`${locale}: ${missing.length} missing, ${extra.length} extra, ${broken.length} broken`);
}
