import type { Page } from "@playwright/test";
import type { furnish } from "./furnish.ts";

type Furnished = Awaited<ReturnType<typeof furnish>>;

export interface Stop {
  readonly address: string;
  /** Shown once the page is complete. */
  readonly landmark: (page: Page) => ReturnType<Page["getByRole"]>;
}

/** Every page of the studio with something on it, each with what shows that it is there. */
export function everyPage({ imageId, jobId, resultId }: Furnished): Stop[] {
  return [
    { address: "/", landmark: (page) => page.getByRole("button", { name: "Use the sample: hoodie" }) },
    {
      address: "/create",
      landmark: (page) => page.getByRole("heading", { name: "No engine for text to image yet" }),
    },
    { address: "/gallery", landmark: (page) => page.getByRole("button", { name: "rocket", exact: true }) },
    {
      address: `/gallery?image=${resultId}`,
      landmark: (page) => page.getByRole("dialog").getByRole("img", { name: /^Remove background/ }),
    },
    {
      address: `/edit/${imageId}`,
      landmark: (page) => page.getByRole("img", { name: "The picture you edit" }),
    },
    {
      address: `/compare?ids=${imageId},${resultId}`,
      landmark: (page) => page.getByRole("group", { name: "Settings that differ" }),
    },
    { address: "/edit", landmark: (page) => page.getByRole("heading", { name: "No pictures are chosen" }) },
    { address: "/wardrobe", landmark: (page) => page.getByRole("heading", { name: "Nothing to wear yet" }) },
    {
      address: "/lookbook",
      landmark: (page) => page.getByRole("heading", { name: "A lookbook needs persons and garments" }),
    },
    { address: "/jobs", landmark: (page) => page.getByRole("list", { name: "Jobs" }).getByRole("listitem") },
    { address: `/jobs/${jobId}`, landmark: (page) => page.getByRole("heading", { name: "What happened" }) },
    {
      address: "/assistant",
      landmark: (page) => page.getByRole("heading", { name: "What would you like to make?" }),
    },
    {
      address: "/assistant/memory",
      landmark: (page) => page.getByRole("heading", { name: "Nothing is remembered" }),
    },
    { address: "/settings", landmark: (page) => page.getByRole("button", { name: "Change password" }) },
    { address: "/shared", landmark: (page) => page.getByRole("heading", { name: "Nothing was shared" }) },
    { address: "/sign-in", landmark: (page) => page.getByRole("heading", { name: "Welcome back" }) },
  ];
}
