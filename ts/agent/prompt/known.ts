import type { Changes } from "./blocks.js";

/**
 * When the providers of elizaOS and bootstrap change their text. Others are watched ({@link Watch}): they count as new for
 * each message until they have stayed the same.
 */
export const PROVIDER_CHANGES: Readonly<Record<string, Changes>> = {
  CHARACTER: "agent",
  PROVIDERS: "agent",
  EVALUATORS: "agent",
  CAPABILITIES: "agent",
  ACTIONS: "actions",
  ANXIETY: "room",
  ENTITIES: "room",
  ROLE: "room",
  ROLES: "room",
  SETTINGS: "room",
  WORLD: "room",
  FACTS: "turn",
  RELATIONSHIPS: "turn",
  ACTION_STATE: "turn",
  ATTACHMENTS: "turn",
  CHOICE: "turn",
  TIME: "turn",
};

/** The same for variables that templates name themselves. */
export const VARIABLE_CHANGES: Readonly<Record<string, Changes>> = {
  agentName: "template",
  bio: "agent",
  system: "agent",
  topics: "agent",
  examples: "agent",
  directions: "agent",
  messageDirections: "agent",
  postDirections: "agent",
  characterMessageExamples: "agent",
  characterPostExamples: "agent",
  actionNames: "actions",
  actionExamples: "actions",
  actionsWithDescriptions: "actions",
  actionsWithParams: "actions",
  providersWithDescriptions: "agent",
  evaluationExamples: "agent",
  evaluatorNames: "agent",
  twitterUserName: "template",
  entities: "room",
  entitiesInRoom: "room",
  roomType: "room",
  recentMessages: "conversation",
  recentPosts: "conversation",
};
