import { expect, test } from "vitest";
import type { Locale } from "../../locales.ts";
import { readDescription } from "./read-description.ts";

const read = (text: string, locale: Locale = "en", isCut = false) => {
  const asked = "Describe this picture in one to three short sentences.\nWrite in English.";
  const found = readDescription({ text, locale, isCut, asked });
  return "text" in found ? found.text : `! ${found.fault}`;
};

const dog = "A brown dog runs along a beach.";

test("what models put around a description is left out", () => {
  const written = [
    dog,
    `  ${dog}\n\n`,
    `"${dog}"`,
    `**${dog}**`,
    `Here is a description: ${dog}`,
    `Here's a description of the image:\n\n**${dog}**`,
    `Sure! Here is a short description of the picture: ${dog}`,
    `Certainly, ${dog}`,
    `Description: ${dog}`,
    `## Description\n${dog}`.replace("## Description", "## Description:"),
    `Caption: "${dog}"`,
    `\`\`\`\n${dog}\n\`\`\``,
    `\`\`\`json\n{"description": "${dog}", "n": 1}\n\`\`\``,
    `{"caption":"${dog}"}`,
    `${dog}<|im_end|>`,
    `<p>${dog}</p>`,
    `${dog} Let me know if you would like more details!`,
    `${dog} I hope this helps.`,
    `[A brown dog](https://evil.example/x) runs along a beach.`,
    `Hier ist eine Beschreibung des Bildes: ${dog}`,
    `Aquí tienes una descripción de la imagen: ${dog}`,
    `Вот описание изображения: ${dog}`,
    `Ето описание на снимката: ${dog}`,
    `好的，以下是图片描述：${dog}`,
  ];
  expect(written.filter((text) => read(text) !== dog).map((text) => [text, read(text)])).toEqual([]);
});

test("JSON in any form gives its words", () => {
  const written = [
    `["${dog}"]`,
    `[{"description":"${dog}"}]`,
    `{"description":{"text":"${dog}"}}`,
    `{"result":{"caption":"${dog}","tags":["dog on a beach in the evening sun of a warm day"]}}`,
    `Here is the JSON:\n\`\`\`json\n{"description":"${dog}"}\n\`\`\``,
    `"{\\"description\\": \\"${dog}\\"}"`,
    `{"description": "${dog}",}`,
    `{'description': '${dog}'}`,
    `{"description": "${dog}"}\n\nLet me know if you need more.`,
    `{"description": "${dog}`,
    `\`\`\`json\n{"description": "${dog}"`,
    `{"style_of_the_photograph":"natural light, shallow depth of field","description":"${dog}"}`,
  ];
  expect(written.filter((text) => read(text) !== dog).map((text) => [text, read(text)])).toEqual([]);
  expect(read('{"tags":["dog","beach","sea"]}')).toBe("Dog, beach, sea");
});

test("of a talk that a model goes on with, its first words are kept, without marks of chats", () => {
  const ends = [
    "<|im_end|>\n<|im_start|>user\nWhat is it?<|im_end|>\n<|im_start|>assistant\nA cat.",
    "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nA cat sits.",
    "<end_of_turn>\n<start_of_turn>user\nok<end_of_turn>",
    "<turn|>\n<|turn>user\nok",
    "<\uFF5Cend\u2581of\u2581sentence\uFF5C>",
    "<\uFF5CUser\uFF5C>Next",
    "</s>[INST] more [/INST] A cat.",
    "<|endoftext|>Human: Write a story.",
    "\nUser: What breed is it?\nAssistant: A labrador.",
    "\n\nUSER: Describe this.\nASSISTANT: A cat.",
    "\n### Instruction:\nDescribe this picture.\n### Response:\nA cat.",
    "\n\nASSISTANT: Here is the revised caption:\n\nA cat sits.",
    "\n\n**Option 2:** A cat.",
  ];
  const begins = [
    "ASSISTANT: ",
    "**Answer:** ",
    "Final answer: ",
    "Output:\n",
    "### Response:\n",
    "assistant\n",
    "model\n",
    "[INST] Describe it. [/INST] ",
    "<|im_start|>user\nDescribe it.<|im_end|>\n<|im_start|>assistant\n",
    "<|start_header_id|>assistant<|end_header_id|>\n\n",
    "**Option 1:** ",
  ];
  const written = [...ends.map((end) => dog + end), ...begins.map((begin) => begin + dog)];
  expect(written.filter((text) => read(text) !== dog).map((text) => [text, read(text)])).toEqual([]);
});

test("marks of places, tables, formulas and entities are no words, nor is the request itself or thinking aloud", () => {
  const beach = "A brown dog runs along a beach.";
  const written = [
    "A <ref>brown dog</ref><box>(12,34),(56,78)</box> runs along a beach.",
    "A <|object_ref_start|>brown dog<|object_ref_end|><|box_start|>(12,34),(56,78)<|box_end|> runs along a beach.",
    "A <ref>brown dog</ref><box>[[12, 34, 56, 78]]</box> runs along a beach.",
    `[IMG]${beach}`,
    `![${beach}](image.jpg)`,
    `\\boxed{${beach}}`,
    `$\\text{${beach}}$`,
    `${beach}<0x0A>`,
    `${beach}\uFFFD`,
    `${beach}\n\n(12 words)`,
    `${beach} (Note: I cannot identify the owner.)`,
    `Describe this picture in one to three short sentences. ${beach}`,
    `Okay, the user wants a description. Let's look at the image. ${beach}`,
    `So, let's see. ${beach}`,
    `Got it, let's look at the image. ${beach}`,
  ];
  expect(written.filter((text) => read(text) !== beach).map((text) => [text, read(text)])).toEqual([]);
  expect(read("| Element | Words |\n|---|---|\n| Subject | brown dog |\n| Place | beach |")).toBe(
    "Subject : brown dog. Place : beach",
  );
  expect(read("A dog &amp; a cat on Tom&#39;s beach.")).toBe("A dog & a cat on Tom's beach.");
});

test("a list becomes sentences, and at most three sentences and 600 characters are kept", () => {
  expect(read("- A dog\n- A beach\n* The sea at dusk.")).toBe("A dog. A beach. The sea at dusk.");
  expect(read(`${dog} ${dog.replace("dog", "cat")} The sun sets. A boat passes. Gulls fly.`)).toBe(
    `${dog} ${dog.replace("dog", "cat")} The sun sets.`,
  );
  const long = read(Array.from({ length: 400 }, (_, at) => `word${at}`).join(" "));
  expect([long.length <= 602, long.endsWith(" …")]).toEqual([true, true]);
  expect(read(`${dog} The sun is about to`, "en", true)).toBe(dog);
  expect(read("A dog on a", "en", true)).toBe("A dog on a");
  expect(read("一只棕色的狗在海滩上奔跑。太阳落山。海浪很大。天空很红。", "zh-CN")).toBe(
    "一只棕色的狗在海滩上奔跑。 太阳落山。 海浪很大。",
  );
});

test("refusals are no descriptions, in every language of the studio", () => {
  const refusals = [
    "I'm sorry, but I can't help with that.",
    "I’m unable to view images.",
    "I cannot see the image.",
    "I can't assist with that request.",
    "I am unable to describe this image as it contains people.",
    "Sorry, I don't see any picture here.",
    "Unfortunately, I cannot view images directly.",
    "As an AI language model, I do not have eyes.",
    "As a text-based model I see no pictures.",
    "There is no image attached. Please upload the image.",
    "Please provide the image you would like me to describe.",
    "It seems you haven't attached a picture.",
    "I don't have the ability to see images.",
    "This model does not support image input.",
    "Sure! I'm sorry, I can't see it.",
    "Es tut mir leid, ich kann keine Bilder sehen.",
    "Ich kann das Bild leider nicht sehen.",
    "Lo siento, no puedo ver imágenes.",
    "Извините, я не могу просматривать изображения.",
    "К сожалению, я не вижу изображения.",
    "Съжалявам, не мога да видя снимката.",
    "抱歉，我无法查看图片。",
    "很抱歉，我看不到图片。",
    "Unable to view image.",
    "Image not available.",
    "The image cannot be displayed.",
    "No image detected.",
    "I am a text-only model.",
    "I'm just an AI and can't see pictures.",
    "The picture you mentioned is not visible to me.",
    "How can I help you today?",
    "Hello! How can I assist you today?",
    "[Error: image could not be loaded]",
    "Generation failed: Model.__call__() missing 1 argument",
    "The image is a base64 encoded string that represents a JPEG.",
    "safe",
    "unsafe\nS12",
    "Ich sehe kein Bild.",
    "Bitte laden Sie das Bild hoch.",
    "No veo ninguna imagen adjunta.",
    "Por favor, proporcione la imagen.",
    "Я не вижу изображения.",
    "Пожалуйста, загрузите изображение.",
    "Не виждам изображение.",
    "Моля, качете снимката.",
    "请提供图片。",
  ];
  expect(refusals.filter((text) => read(text) !== "! refusal").map((text) => [text, read(text)])).toEqual([]);
  expect(read("I can't identify the person, but the picture shows a woman with a red scarf.")).toBe(
    "The picture shows a woman with a red scarf.",
  );
  expect(read("I'm sorry, but I can describe the image: a woman sits at a table.")).toBe(
    "A woman sits at a table.",
  );
  const unknown = [
    `${dog} I can't identify who they are.`,
    `I can't identify who they are. ${dog}`,
    `${dog} I’m sorry, I am not able to tell who the people are. I cannot recognize the person.`,
    `No puedo identificar a las personas. ${dog}`,
    `Я не могу распознать людей. ${dog}`,
    `我无法识别图中的人是谁。${dog}`,
  ];
  expect(unknown.filter((text) => read(text) !== dog).map((text) => [text, read(text)])).toEqual([]);
  const nothing = [
    "I can't identify who they are.",
    "I can't identify people in pictures. I can describe their clothes instead.",
    "I can't identify people. I'm sorry, I can't help with that.",
    "I'm unable to describe it as it contains people. Perhaps another picture works.",
  ];
  expect(nothing.filter((text) => read(text) !== "! refusal").map((text) => [text, read(text)])).toEqual([]);
  const fine = [
    "A sign says: I cannot swim.",
    "A man who is sorry holds flowers.",
    "A child is unable to see over a wall.",
    "No people are on the beach.",
    "A photo is pinned to a wall beside an error message.",
    "A safe stands open in a bank.",
  ];
  expect(fine.map((text) => read(text))).toEqual(fine);
});

test("an answer that goes on to its limit is a description only when it repeats itself after one", () => {
  const thinking = Array.from({ length: 60 }, (_, at) => `Is thing${at} a dog${at}? Hm${at}.`).join(" ");
  expect(read(thinking, "en", true)).toBe("! endless");
  expect(read(`${dog} The sea is calm. Gulls fly. ${"The ".repeat(400)}`, "en", true)).toBe(
    `${dog} The sea is calm. Gulls fly.`,
  );
});

test("empty answers, loops and scripts that the owner does not read are no descriptions", () => {
  const empty = [
    "",
    " \n",
    "...",
    "N/A",
    "None.",
    "image",
    "the image",
    "a photo of",
    "<|im_end|>",
    "```\n```",
    "🙂",
    "null",
  ];
  expect(empty.filter((text) => read(text) !== "! empty").map((text) => [text, read(text)])).toEqual([]);
  const loops = [
    "the the the the the the",
    "A dog dog dog dog dog",
    "A red car and a red car and a red car and a red car and a red car and a red car",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "lalalalalalalalalalalalalala la la",
    "狗狗和猫和狗和猫和狗和猫和狗和猫和狗和猫和狗和猫",
  ];
  expect(
    loops.filter((text) => read(text, "zh-CN") !== "! loop").map((text) => [text, read(text, "zh-CN")]),
  ).toEqual([]);
  // A loop that begins later costs what comes after it alone.
  const late = `${dog} The sea is calm. Clouds are white. ${"The collage is colourful. ".repeat(40)}`;
  expect(read(late)).toBe(`${dog} The sea is calm. Clouds are white.`);
  expect(read("一只棕色的狗在海滩上奔跑。")).toBe("! language");
  expect(read("Коричневая собака бежит по пляжу.", "de")).toBe("! language");
  expect(read("Коричневая собака бежит по пляжу.", "ru")).toBe("Коричневая собака бежит по пляжу.");
  expect(read(dog, "bg")).toBe(dog);
  expect(read('A shop with the sign "北京烤鸭" and a red door.')).toBe(
    'A shop with the sign "北京烤鸭" and a red door.',
  );
});

test("ordinary descriptions stay as they are", () => {
  const fine = [
    "The image shows three signs: stop, go and wait.",
    "Two children, a red ball, and a dog: a summer afternoon.",
    "Dog.",
    "A white-haired man in a blue coat (perhaps a sailor) looks at the sea.",
    "A 3 x 3 grid of black and white squares with a black square in the middle.",
    "Ein Hund läuft über den Strand, dahinter das Meer.",
    "Едно куче тича по плажа.",
  ];
  const changed = fine.filter((text) => read(text, /[а-я]/.test(text) ? "bg" : "de") !== text);
  expect(changed.map((text) => [text, read(text)])).toEqual([]);
});
