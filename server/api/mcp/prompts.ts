import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import {
  ErrorCode,
  GetPromptRequestSchema,
  type GetPromptResult,
  ListPromptsRequestSchema,
  McpError,
} from "@modelcontextprotocol/sdk/types.js";
import { pictureLimits } from "../../platform/index.ts";

interface Argument {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
}

/** A request that a person picks from a list, and the program sends to its model. */
interface Prompt {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly arguments: readonly Argument[];
  readonly text: string;
}

const price =
  "Nothing may cost anything until I agree: if estimate names a price, tell me, and pass it as maxPriceUsd only after my yes.";

const prompts: readonly Prompt[] = [
  {
    name: "make_picture",
    title: "Make a picture",
    description: "From an idea to a picture: a full prompt, a fitting model, the result.",
    arguments: [{ name: "idea", description: "What the picture shows, in a few words.", required: true }],
    text: `Make the picture that is described below. Write a full prompt for it: subject, surroundings, light, viewpoint, medium. Choose a model of list_models, call estimate, then generate_image with your prompt. Show me the prompt and the picture, and offer one change. ${price}`,
  },
  {
    name: "change_outfit",
    title: "Change outfit",
    description: "Puts garments of the gallery on a person of the gallery.",
    arguments: [
      {
        name: "person",
        description: "The picture of the person: its id, or words to find it by.",
        required: true,
      },
      { name: "garments", description: "The garments: ids, or words to find them by.", required: true },
    ],
    text: `Put the garments below on the person below. What is no id, find by search_gallery, and show me what you found before you go on. Ask me whether the photo shows an adult who agrees, and pass consent only after my yes. Call estimate, then change_outfit, and show me the result. ${price}`,
  },
  {
    name: "improve_prompt",
    title: "Improve a prompt",
    description: "A better prompt, also by what it made. Makes no picture.",
    arguments: [
      { name: "prompt", description: "The prompt as it is.", required: true },
      { name: "picture", description: "The id of a picture that it made.", required: false },
    ],
    text: "Improve the prompt below for an image model. Keep what it asks for and its language; say what is vague in it (subject, surroundings, light, viewpoint, medium), and leave out words that say nothing. If a picture is named, look at it by show_picture first, and mend what it got wrong. Answer with the new prompt alone, then with what you changed. Make no picture.",
  },
];

/** Prompts for what people do here. They order nothing: the tools that they name ask for the rights of the key. */
export function servePrompts(server: McpServer["server"]): void {
  server.setRequestHandler(ListPromptsRequestSchema, () => ({
    prompts: prompts.map(({ text: _text, arguments: own, ...rest }) => ({ ...rest, arguments: [...own] })),
  }));
  server.setRequestHandler(GetPromptRequestSchema, ({ params: { name, arguments: given = {} } }) => {
    const prompt = prompts.find((one) => one.name === name);
    if (!prompt) throw new McpError(ErrorCode.InvalidParams, `Unknown prompt: ${name.slice(0, 200)}`);
    return fill(prompt, given);
  });
}

/** Throws for an argument that is missing or too long. What the person gave stands behind the request, by its name. */
function fill(prompt: Prompt, given: Readonly<Record<string, string>>): GetPromptResult {
  const lines = prompt.arguments.flatMap(({ name, required }) => {
    const value = given[name]?.trim() ?? "";
    if (required && value === "")
      throw new McpError(ErrorCode.InvalidParams, `The argument "${name}" is missing.`);
    const { promptCharacters: most } = pictureLimits;
    if (value.length > most)
      throw new McpError(ErrorCode.InvalidParams, `"${name}" has more than ${most} characters.`);
    return value === "" ? [] : [`${name}: ${value}`];
  });
  const text = [prompt.text, ...lines].join("\n\n");
  return { description: prompt.description, messages: [{ role: "user", content: { type: "text", text } }] };
}
