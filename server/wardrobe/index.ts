/**
 * The wardrobe: pictures of garments and persons that a user keeps at hand for outfits, and the statement about a person's
 * photo without which no outfit is made.
 *
 * Terms. Item: a picture in the wardrobe, at most once. Consent: the statement that a photo shows an adult who agrees; it
 * belongs to the bytes of the photo and its owner, so that it is made once, wherever the photo is used, and can be withdrawn.
 *
 * Rules. An item only names its picture: it is gone from the list while the picture is deleted, and taking it out deletes
 * nothing. The colour of a garment is read from its thumbhash and stored nowhere.
 */
export {
  addItem,
  addItemSchema,
  changeItem,
  changeItemSchema,
  countUses,
  hasConsent,
  importPictureSchema,
  listItems,
  removeItems,
  restoreItems,
  stateConsent,
  withdrawConsent,
  type WardrobeItem,
} from "./items.ts";
