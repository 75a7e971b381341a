import { z } from "zod";
import type { ClientInput } from "../clients/route.ts";
import type { Answer, Extra } from "./making.ts";

export const pictureId = z
  .uuid()
  .describe("The id of a picture of the studio: of search_gallery, add_picture or a result.");

/** A tool; its schema parses what `run` gets. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly schema: z.ZodObject;
  /** It changes nothing. */
  readonly isReading: boolean;
  run(input: ClientInput, given: unknown, extra: Extra): Promise<Answer>;
}

/** Types the input of a tool by its schema. */
export function tool<Schema extends z.ZodObject>(
  facts: Omit<Tool, "schema" | "run"> & { readonly schema: Schema },
  run: (input: ClientInput, given: z.output<Schema>, extra: Extra) => Promise<Answer>,
): Tool {
  return { ...facts, run: (input, given, extra) => run(input, facts.schema.parse(given), extra) };
}
