import { enter } from "./supervisor/enter.ts";

await enter("start");
