import { z } from "zod";
import { type Forms, mendArguments, saidArguments } from "../../assistant/index.ts";
import { AppError, issuesOf, lineOfIssues } from "../../platform/index.ts";
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
  /** It orders jobs, which a client may have as a task. */
  readonly isLong?: boolean;
  run(input: ClientInput, given: unknown, extra: Extra): Promise<Answer>;
}

/** Types the input of a tool by its schema. */
export function tool<Schema extends z.ZodObject>(
  facts: Omit<Tool, "schema" | "run"> & { readonly schema: Schema },
  run: (input: ClientInput, given: z.output<Schema>, extra: Extra) => Promise<Answer>,
): Tool {
  return { ...facts, run: (input, given, extra) => run(input, parse(facts.schema, given), extra) };
}

/**
 * Many models and programs send null or an empty text for what they leave out, and numbers as texts: refused, they send the same
 * again, or make values up. Throws `bad_request` with what is wrong, which the model can mend.
 */
function parse<Schema extends z.ZodObject>(schema: Schema, given: unknown): z.output<Schema> {
  const forms = formOf(schema);
  const said = saidArguments(Object(given), forms);
  const result = schema.safeParse(said);
  if (result.success) return result.data;
  const mended = schema.safeParse(mendArguments(said, forms));
  if (mended.success) return mended.data;
  const issues = issuesOf(mended.error);
  throw new AppError("bad_request", `Invalid arguments: ${lineOfIssues(issues)}`, { details: { issues } });
}

/** Safe cast: each schema is one of an object. */
const formOf = (schema: z.ZodObject) => z.toJSONSchema(schema, { io: "input" }) as Forms;
