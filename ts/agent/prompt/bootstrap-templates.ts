// Made by scripts/prompt-templates.mjs from @elizaos/plugin-bootstrap 1.7.2.
import type { CompactTemplate } from "./template.js";

/** The prompt templates of bootstrap that name providers, by the digests of their texts. */
export const BOOTSTRAP_TEMPLATES: readonly (readonly [name: string, CompactTemplate])[] = [
  [
    "imageGenerationTemplate",
    [
      [64, "# Task: Gene", "69a3a4807bbd9f73f7826a1f0288c180"],
      "providers",
      [331, "\n  # Instruc", "42f7d28a527b75de8c1fa3aab996a6e0"],
      "recentMessages",
      [211, "\n  \n  Your r", "5626b2cf7a4be226c0e0555ded88e28d"],
    ],
  ],
  [
    "replyTemplate",
    [
      [42, "# Task: Gene", "0d0d623c90ce0ca9a96b3ec3a42b1358"],
      "agentName",
      [3, ".\n\n", "0673d69ff78439adfb40182f626c701a"],
      "providers",
      [45, "\n\n# Instruct", "20e950e03490eede59bb85641c086c8f"],
      "agentName",
      [130, '.\n"thought" ', "4978ca08f8f89dd70c2dea9d28b1a411"],
      "agentName",
      [88, " which they ", "11cd76fc4d3bccefb727ea82a6cc8971"],
      "agentName",
      [1016, " includes co", "287e9f4635adef28dbce5a930e9c7f37"],
    ],
  ],
  [
    "reflectionTemplate",
    [
      [68, "# Task: Gene", "eb1fa9b6703fb7a33be1c4c578c0a8ba"],
      "providers",
      [14, "\n\n# Examples", "562fb177cc7bfe29bd30f3f1744447da"],
      "evaluationExamples",
      [21, "\n\n# Entities", "3d7decc548a80d172b3a856a34baffcc"],
      "entitiesInRoom",
      [27, "\n\n# Existing", "854fc9d8cb3591bc268dc89879f3eb55"],
      "existingRelationships",
      [33, "\n\n# Current ", "a69b07c15c04f5fdce3a2387c65fab05"],
      "agentName",
      [12, "\nRoom Type: ", "dd11a7266aa489ab8866d85dc65d9b36"],
      "roomType",
      [17, "\nMessage Sen", "c524c10d305d9a5ce2a6fb9e90bb380b"],
      "senderName",
      [6, " (ID: ", "3989c5ab24d0cc7d3637718c72e95afe"],
      "senderId",
      [3, ")\n\n", "cf2365bc7124bf9e7748d722d54f4ae9"],
      "recentMessages",
      [17, "\n\n# Known Fa", "074ed1bc639fe577965b2fe71c4e43b7"],
      "knownFacts",
      [1652, "\n\n# Instruct", "f61e60ea7acadc21a0075fc552dc2c1c"],
    ],
  ],
];
