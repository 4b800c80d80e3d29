// What people say to the agent: three dialogues of ten turns for each kind of room.
const topics = [
  [
    "Hello Ada, how are you today?",
    "I am planning a trip to the sea.",
    "Which month would you choose?",
    "And if I do not like the heat?",
    "What should I put in my bag?",
    "My sister Lena will come, too.",
    "She loves birds. Where could we watch some?",
    "How early should we get up for that?",
    "What was my sister's name again?",
    "Thank you, that was all.",
  ],
  [
    "Good evening! Do you know anything about bread?",
    "My dough does not rise. Why?",
    "The kitchen is rather cold, that is true.",
    "How warm should it be?",
    "Can I use the oven for that?",
    "And how long should I wait?",
    "What flour do you like best?",
    "I only have rye flour here.",
    "Does that change the time?",
    "I will try it tomorrow. Good night!",
  ],
  [
    "Hi. I want to learn to draw.",
    "I have never done it before.",
    "What do I need to begin?",
    "Pencils of which hardness?",
    "What should I draw first?",
    "My apple looks like a potato.",
    "How do I get the shadow right?",
    "The light comes from the left.",
    "Should I draw every day?",
    "Fine, I will show you the next one.",
  ],
];

const people = ["Ann", "Bob", "Cleo"];

/** Turns of one dialogue; in a group three people speak, and every other message names the agent. */
export function dialogue(kind, number) {
  return topics[number % topics.length].map((text, index) => {
    if (kind !== "group") return { from: people[0], text };
    return { from: people[index % people.length], text: index % 2 === 0 ? `Ada, ${text}` : text };
  });
}
