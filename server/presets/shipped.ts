import type { StyleParts } from "../db/index.ts";

/** Lists that every studio has; one of the studio's or of a user's own of the same name counts instead. */
export const shippedLists: Readonly<Record<string, readonly string[]>> = {
  angle: [
    "seen from above",
    "seen from below",
    "at eye level",
    "close-up",
    "wide shot",
    "from behind",
    "in profile",
  ],
  colour: [
    "crimson",
    "ochre",
    "emerald",
    "teal",
    "indigo",
    "violet",
    "ivory",
    "charcoal",
    "copper",
    "sage green",
  ],
  fabric: ["linen", "silk", "denim", "wool", "velvet", "leather", "cotton", "tulle"],
  lens: ["24 mm lens", "35 mm lens", "50 mm lens", "85 mm lens", "macro lens", "telephoto lens"],
  light: [
    "soft window light",
    "golden hour",
    "overcast light",
    "hard noon sun",
    "candle light",
    "neon light",
    "backlight",
  ],
  medium: [
    "oil painting",
    "watercolour",
    "charcoal drawing",
    "film photograph",
    "linocut",
    "gouache",
    "pastel",
  ],
  mood: ["calm", "joyful", "melancholic", "mysterious", "tense", "tender", "playful"],
  place: [
    "in a forest",
    "at the sea",
    "in a city street",
    "in a studio",
    "in the mountains",
    "in a garden",
    "in a library",
  ],
  season: ["in spring", "in summer", "in autumn", "in winter"],
  weather: ["clear sky", "light rain", "fog", "storm clouds", "snowfall", "after the rain"],
};

/** Styles that every studio has. */
export const shippedStyles: Readonly<Record<string, StyleParts>> = {
  "Film photograph": {
    prompt: "{prompt}, analogue film photograph, natural light, fine grain, shallow depth of field",
    negativePrompt: "illustration, drawing, 3d render",
  },
  "Studio portrait": {
    prompt: "studio portrait of {prompt}, softbox light, plain backdrop, 85 mm lens",
    negativePrompt: "busy background, distorted face",
  },
  "Product shot": {
    prompt: "product photograph of {prompt}, seamless white background, soft shadow, sharp focus",
    negativePrompt: "text, watermark, clutter",
  },
  "Oil painting": {
    prompt: "oil painting of {prompt}, visible brushwork, rich impasto, canvas texture",
    negativePrompt: "photograph, 3d render",
  },
  Watercolour: {
    prompt: "watercolour of {prompt}, loose washes, white paper, bleeding edges",
    negativePrompt: "photograph, 3d render, hard outlines",
  },
  "Ink drawing": {
    prompt: "ink drawing of {prompt}, fine hatching, black on white paper",
    negativePrompt: "colour, photograph",
  },
  "Flat illustration": {
    prompt: "flat illustration of {prompt}, simple shapes, limited palette, clean edges",
    negativePrompt: "photograph, texture, gradient",
  },
  Cinematic: {
    prompt: "cinematic still of {prompt}, dramatic light, wide frame, colour graded",
    negativePrompt: "flat light, snapshot",
  },
};
