import { z } from "zod";
import { foreignText } from "@atelier/server/platform";
import type { CallOptions, IopaintServer } from "./iopaint-server.ts";
import { readJson } from "./read-json.ts";

const modelSchema = z.object({ name: foreignText, need_prompt: z.boolean().default(false) });

/** The model that inpaints. */
export interface IopaintModel {
  readonly name: string;
  /** False: it fills from the surroundings and reads no words. */
  readonly needsPrompt: boolean;
}

export async function readModel(server: IopaintServer, options: CallOptions): Promise<IopaintModel> {
  const { name, need_prompt: needsPrompt } = await readJson(
    server,
    { route: "model", schema: modelSchema },
    options,
  );
  return { name, needsPrompt };
}
