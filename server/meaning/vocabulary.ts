export interface Vocabulary {
  readonly pieces: readonly string[];
  readonly scores: Float32Array;
  readonly begin: number;
  readonly end: number;
  readonly unknown: number;
  /** What a character is written as before pieces are looked for. */
  readonly spelling: ReadonlyMap<string, string>;
}

/** Reads numbers one after the other, as the file of a model has them. */
export function createCursor(bytes: Buffer, start: number) {
  let at = start;
  const move = (size: number) => (at += size) - size;
  return {
    byte: () => bytes.readUInt8(move(1)),
    short: () => bytes.readUInt16LE(move(2)),
    int: () => bytes.readUInt32LE(move(4)),
    long: () => Number(bytes.readBigUInt64LE(move(8))),
    float: () => bytes.readFloatLE(move(4)),
    take: (size: number) => bytes.subarray(move(size), at),
  };
}

export type Cursor = ReturnType<typeof createCursor>;

/** A copy, since floats must stand at a multiple of four bytes. */
export function floatsOf(part: Buffer): Float32Array {
  return new Float32Array(Uint8Array.from(part).buffer);
}

export function readVocabulary(cursor: Cursor): Vocabulary {
  const count = cursor.int();
  const [begin, end] = [cursor.int(), cursor.int(), cursor.int()];
  const unknown = cursor.int();
  const textBytes = cursor.long();
  const offsets = new Uint32Array(Uint8Array.from(cursor.take((count + 1) * 4)).buffer);
  const scores = floatsOf(cursor.take(count * 4));
  const text = cursor.take(textBytes);
  const pieces = Array.from({ length: count }, (_, piece) =>
    text.toString("utf8", offsets[piece], offsets[piece + 1]),
  );
  const spellings = cursor.int();
  cursor.int();
  const spelling = new Map<string, string>();
  for (let row = 0; row < spellings; row += 1) {
    const from = String.fromCodePoint(cursor.int());
    const written = Array.from({ length: cursor.byte() }, () => String.fromCodePoint(cursor.int()));
    spelling.set(from, written.join(""));
  }
  return { pieces, scores, begin, end, unknown, spelling };
}

/** What stands for a space in pieces. */
const space = "\u2581";

/** Cuts texts into the pieces of a vocabulary. */
export type Tokenize = (text: string) => number[];

/** The likeliest pieces of a text, in one pass from its beginning (the unigram model of SentencePiece). At most `limit`. */
export function createTokenizer(
  { pieces, scores, begin, end, unknown, spelling }: Vocabulary,
  limit: number,
): Tokenize {
  const idOf = new Map(pieces.map((piece, id) => [piece, id]));
  // Characters of two units count once too often, which costs some look-ups only.
  const longest = pieces.reduce((most, piece) => Math.max(most, piece.length), 1);
  const worst = scores.reduce((least, score) => Math.min(least, score), 0) - 10;

  function write(text: string): string[] {
    const plain = Array.from(text.toWellFormed(), (character) => spelling.get(character) ?? character).join(
      "",
    );
    const spaced = plain.replaceAll(/ {2,}/g, " ");
    return Array.from((spaced.startsWith(" ") ? spaced : ` ${spaced}`).replaceAll(" ", space));
  }

  function bestPieces(characters: readonly string[]): number[] {
    const best = new Float64Array(characters.length + 1).fill(-Infinity);
    const pieceAt = new Int32Array(characters.length + 1);
    const fromAt = new Int32Array(characters.length + 1);
    best[0] = 0;
    const offer = (to: number, from: number, id: number, score: number) => {
      if (score <= (best[to] ?? 0)) return;
      best[to] = score;
      pieceAt[to] = id;
      fromAt[to] = from;
    };
    for (let from = 0; from < characters.length; from += 1) {
      const base = best[from] ?? 0;
      let part = "";
      for (let to = from + 1; to <= characters.length && part.length < longest; to += 1) {
        part += characters[to - 1] ?? "";
        const id = idOf.get(part);
        if (id !== undefined && id !== unknown) offer(to, from, id, base + (scores[id] ?? 0));
      }
      offer(from + 1, from, unknown, base + worst);
    }
    const found: number[] = [];
    for (let to = characters.length; to > 0; to = fromAt[to] ?? 0) found.push(pieceAt[to] ?? unknown);
    return found.toReversed();
  }

  return (text) => {
    // No piece is longer than this on average, so the rest would be cut off anyway.
    const characters = write(text.slice(0, limit * longest));
    return [begin, ...bestPieces(characters).slice(0, limit - 2), end];
  };
}
