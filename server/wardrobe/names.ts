export const garmentCategories = ["top", "bottom", "dress", "outerwear", "shoes", "accessory"] as const;
export type GarmentCategory = (typeof garmentCategories)[number];

/** What a garment's colour can be called. */
export const garmentColours = [
  "black",
  "grey",
  "white",
  "red",
  "orange",
  "brown",
  "yellow",
  "green",
  "blue",
  "purple",
  "pink",
] as const;
export type GarmentColour = (typeof garmentColours)[number];
