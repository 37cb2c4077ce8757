"""A made-up conversation of half a year, for the picture of a timeline: Ann of the sailing club and the harbour office.

Ann begins with her own boat, and comes back with the same matters for the boats of other members, so that the
conversation gets as long as one that somebody really has.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

STARTED = datetime(2026, 1, 12, 18, 5, tzinfo=UTC)

EPISODES = (
    (
        "Hello! I'm Ann. I'm looking for a summer berth in Kiel for my boat, the Albatross. She is 9.20 m long.",
        "Welcome, Ann. Berth 17 at Düsternbrook fits 9.20 m and is free from 1 May, for 450 euros the season.",
        "I never want to lie next to the ferry, the wake is terrible. Is berth 17 far from it?",
        "Yes, berth 17 is on the quiet side, 300 m from the ferry.",
        "Good. Let's go with berth 17, then. I'll pay by bank transfer on Friday.",
        "Reserved. Please transfer 450 euros with the reference KI-2291.",
    ),
    (
        "The transfer is done. Did it arrive?",
        "It arrived this morning: 450 euros for KI-2291. Berth 17 is yours from 1 May to 30 September.",
        "Great. The engine loses oil, about half a litre on every trip. Who repairs a Yanmar 2GM20?",
        "Bootsmotoren Nord and Werft Holtenau both do. Holtenau has a crane, and asks 95 euros an hour.",
        "We decided on Werft Holtenau, my neighbour Henrik recommends them.",
        "I asked them: they offer 14 April at 9:00, for two days.",
    ),
    (
        "14 April works for me. Please confirm it.",
        "Confirmed. Bring the boat to the east quay, and ask for Mrs Petersen.",
        "Remind me to renew the insurance before the season starts.",
        "I will remind you on 20 April. Your policy is number 88-1204-7 at Pantaenius.",
        "I prefer mail over phone calls, by the way.",
        "Noted: mail only, to ann@albatross.example.",
    ),
    (
        "Henrik asks whether his boat can lie next to mine. It's 11 m long.",
        "Berth 18 takes boats up to 10 m only. Berth 21 would fit, for 540 euros.",
        "He'll take berth 21. His surname is Lorenzen.",
        "Berth 21 is reserved for Henrik Lorenzen, reference KI-2304.",
        "Is there water and power on the pier in April already?",
        "Power all year, water from 15 March, if there is no frost.",
    ),
    (
        "The mast needs new shrouds. Can you find a rigger who comes to the harbour?",
        "Rigg & Tau comes on Thursdays. They need the length of the mast and the wire's diameter.",
        "The mast is 12.4 m, the wire is 5 mm.",
        "They estimate 620 euros with labour, and can come on 23 April.",
        "That's too much. I don't want to spend more than 500 euros on the rig this year.",
        "Understood. They would change the two upper shrouds only for 380 euros.",
    ),
    (
        "380 euros for the upper shrouds is fine, go ahead.",
        "Done: Rigg & Tau comes on 23 April at 10:00.",
        "My daughter Mia starts a sailing course in July. Which school is good for a ten-year-old?",
        "Segelschule Mövenstein has a class for ages 8 to 12, from 13 to 17 July, 210 euros.",
        "Mia is allergic to nuts. Please tell the school.",
        "I told Mövenstein. They confirm: no nuts in the lunch boxes, and Mia has a place.",
    ),
    (
        "The weather report says storm on Saturday. Is the Albatross safe in the yard?",
        "The yard expects gusts of 9 Beaufort. They will put a second strap around her.",
        "Thank you. Did anything break last night?",
        "No damage on the Albatross. Two other boats lost their covers.",
        "Let's move the launch from 28 April to 30 April, the tide is better.",
        "The launch is on 30 April at 7:30, instead of 28 April.",
    ),
    (
        "Werft Holtenau sent an invoice of 1,140 euros. Wasn't it two days at 95 euros an hour?",
        "It says twelve hours: 1,140 euros. The oil seal of the gearbox was replaced as well, for 96 euros of parts.",
        "Then the hours are right, but the seal should be on the invoice separately. Please ask.",
        "They apologise and send a new one: 1,140 euros for labour, 96 euros for the seal.",
        "OK, I'll pay both by 10 May.",
        "The payment to Werft Holtenau is due on 10 May 2026; I will remind you.",
    ),
    (
        "We had a wonderful first trip to Laboe yesterday! The engine lost no oil at all.",
        "How nice! I closed the matter of the engine.",
        "The depth sounder shows nothing, though. Error E-07.",
        "E-07 of the Garmin GT20 means that the transducer is not connected. Check the plug under the floor board.",
        "It was the plug. It works again.",
        "Good. I noted that the plug under the floor board comes loose.",
    ),
    (
        "I'd like to sail to Ærø in August, for ten days, with Mia and Henrik.",
        "Marstal has guest berths for 28 euros a night, and takes reservations since 1 June.",
        "Please book Marstal from 3 to 6 August.",
        "Both boats have a place in Marstal from 3 to 6 August 2026, reference MA-5518.",
        "What papers do we need in Denmark?",
        "Identity cards for all three, the boat's papers, and proof of insurance.",
    ),
    (
        "Did you remind me about the insurance? I can't find the mail.",
        "I sent it on 20 April. The policy was renewed on 22 April and holds until 21 April 2027.",
        "Right, thanks. Please send the certificate to Henrik, he needs it for Marstal.",
        "Sent to henrik@lorenzen.example.",
        "The fridge draws 6 amperes all the time. The battery is empty every morning.",
        "A thermostat that sticks does that. Mobile Bordtechnik can look on 30 June, for 75 euros.",
    ),
    (
        "It was the thermostat, 40 euros, and the fridge is quiet now.",
        "Noted. Altogether 115 euros went to Mobile Bordtechnik.",
        "We want to change the name of the boat to Little Albatross. Is that much work?",
        "The register asks 25 euros and takes three weeks. The insurance must know, too.",
        "Mia changed her mind, we keep the name Albatross.",
        "Good, I withdrew nothing: nothing had been sent yet.",
    ),
    (
        "The course at Mövenstein was great. Mia got her first badge on 17 July.",
        "Congratulations to Mia! The next class is from 27 to 31 July.",
        "She would love that, but we leave for Ærø on 1 August. Is there one in autumn?",
        "Yes, from 5 to 9 October, 190 euros, and Mia would be with the older ones.",
        "Book it, please. Same allergy, of course.",
        "There is a place for her from 5 to 9 October 2026. They know about the nuts.",
    ),
    (
        "Marstal was full of wasps, but lovely. We stayed until 7 August.",
        "The harbour master of Marstal sent a bill for the extra night: 28 euros for each boat.",
        "I'll pay mine, Henrik pays his. When do we have to leave berth 17?",
        "On 30 September. The crane is free on 29 and 30 September, in the morning.",
        "Let's take 30 September, at 8:00, and the same yard as last winter.",
        "The crane lifts you out on 30 September 2026 at 8:00, and hall 2 of Werft Holtenau is yours.",
    ),
)
"""What is said, Ann first; the office answers."""


BOATS = (
    "Albatross",
    "Seestern",
    "Lotte",
    "Kormoran",
    "Wilma",
    "Nordlicht",
    "Ilse",
    "Möwe",
    "Fanø",
    "Greta",
    "Taifun",
    "Anke",
    "Hugin",
    "Skua",
    "Oda",
)
MEMBERS = (
    "Henrik",
    "Jonas",
    "Birte",
    "Malik",
    "Sonja",
    "Piet",
    "Aylin",
    "Gustav",
    "Rieke",
    "Tomás",
    "Hilde",
    "Okan",
    "Marit",
    "Joris",
    "Elif",
)
CHILDREN = (
    "Mia",
    "Ben",
    "Lale",
    "Finn",
    "Ida",
    "Jasper",
    "Noor",
    "Emil",
    "Svea",
    "Luca",
    "Frieda",
    "Can",
    "Runa",
    "Max",
    "Smilla",
)
TASKS = (
    "renew the insurance before the season starts",
    "order new fenders before the regatta",
    "ask for the club's key on Monday",
    "book the crane before it is full",
    "send the register the new address",
)
WISHES = (
    "I prefer mail over phone calls, by the way.",
    "I prefer berths with power, even if they cost more.",
    "I'd rather not have appointments before nine in the morning.",
    "I prefer to pay by bank transfer.",
)
YARDS = ("Werft Holtenau", "Werft Laboe", "Bootsbau Heikendorf", "Werft Strande")


def said() -> Iterator[tuple[str, str, datetime]]:
    """Every message: who says it, what, and when."""
    place = 0
    for round in range(len(BOATS)):
        for told in EPISODES:
            began = STARTED + timedelta(days=place * 8 // 7)
            place += 1
            for number, text in enumerate(told):
                yield (
                    "user" if number % 2 == 0 else "assistant",
                    _retold(text, round),
                    began + timedelta(minutes=7 * number),
                )


def _retold(text: str, round: int) -> str:
    """The text for another boat: other names, berths, prices and references."""
    others = {
        "Albatross": BOATS[round],
        "Henrik": MEMBERS[round],
        "Mia": CHILDREN[round],
        TASKS[0]: TASKS[round % len(TASKS)],
        WISHES[0]: WISHES[round % len(WISHES)],
        "Werft Holtenau": YARDS[round % len(YARDS)],
        "erth 17": f"erth {17 + 3 * round}",
        "erth 21": f"erth {21 + 3 * round}",
        "450 euros": f"{450 + 15 * round} euros",
        "540 euros": f"{540 + 20 * round} euros",
        "KI-2291": f"KI-{2291 + 37 * round}",
        "KI-2304": f"KI-{2304 + 37 * round}",
        "MA-5518": f"MA-{5518 + 11 * round}",
        "9.20 m": f"{9.2 + round / 10:.2f} m",
    }
    for before, after in others.items():
        text = text.replace(before, after)
    return text
