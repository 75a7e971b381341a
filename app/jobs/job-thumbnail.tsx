import type { JobView } from "@atelier/server/jobs";
import { WandSparkles } from "lucide-react";
import { Picture } from "../pictures/picture.tsx";

interface Props {
  readonly job: JobView;
  readonly size: "small" | "medium";
}

const sizes = { small: "size-10", medium: "size-14" };
const order = ["person", "image", "garment"];

/** The result, or the picture that it starts from. */
export function JobThumbnail({ job, size }: Props) {
  const [output] = job.outputs;
  const input = order
    .map((role) => job.inputs.find((candidate) => candidate.role === role))
    .find((found) => found !== undefined);
  const imageId = output?.imageId ?? input?.imageId;
  return (
    <span
      className={`flex shrink-0 items-center justify-center overflow-hidden rounded-control bg-well ${sizes[size]}`}
    >
      {imageId === undefined ? (
        <WandSparkles className="size-4 text-edge" strokeWidth={1.5} aria-hidden />
      ) : (
        <Picture
          key={imageId}
          imageId={imageId}
          variant="thumbnail"
          thumbhash={output?.thumbhash}
          alt=""
          className="size-full"
        />
      )}
    </span>
  );
}
