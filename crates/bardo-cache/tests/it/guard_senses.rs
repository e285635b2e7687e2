//! Words with a second sense: they stand for another word in a narrow place only.

use crate::guard_pairs::{join, separate};

/// The pairs of a table, one a line.
fn pairs(table: &str) -> Vec<(&str, &str)> {
    let lines = table.lines().filter(|line| !line.is_empty());
    let pairs = lines.map(|line| line.split_once(" | ").expect("two texts"));
    pairs.collect()
}

/// Verbs: one changes a battery for another one, and modifies a document.
const VERBS: &str = "
How do I change the battery? | How do I alter the battery?
How do I change the battery? | How do I modify the battery?
How do I change my brakes? | How do I modify my brakes?
How do I change a tire? | How do I modify a tire?
How do I alter my dress? | How do I change my dress?
Where can I change currency? | Where can I modify currency?
How do I change my mind? | How do I modify my mind?
How do I change jobs? | How do I modify jobs?
How do I change trains? | How do I modify trains?
Can I change clothes? | Can I modify clothes?
How do I change a lightbulb? | How do I modify a lightbulb?
How do I change my hair? | How do I modify my hair?
Which foods should I avoid? | Which foods should I prevent?
How do I avoid traffic? | How do I prevent traffic?
Which foods should I avoid with an infection? | Which foods should I prevent with an infection?
Should I avoid the sun with a sunburn? | Should I prevent the sun with a sunburn?
How do I make the playlist? | How do I create the playlist?
How do I deal with grief? | How do I manage grief?
When does the ship arrive? | When does the shipment arrive?
How do I improve my aim? | How do I improve my goal?
How can I avoid crime? | How can I prevent crime?
How do I avoid a lawsuit? | How do I prevent a lawsuit?
Should I avoid mold? | Should I prevent mold?
Should I avoid my ex? | Should I prevent my ex?
How do I make the team? | How do I create the team?
How do I make my connection? | How do I create my connection?
How do I make the bed? | How do I create the bed?
How do I make coffee? | How do I create coffee?
How do I make friends? | How do I create friends?
What does it take to make partner? | What does it take to create a partner?
How can I reduce the cost? | How can I reduce the price?
How do companies cut the cost of a drug? | How do companies cut the price of a drug?
How do I calculate the unit cost? | How do I calculate the unit price?
Can I check my bag at the airport? | Can I inspect my bag at the airport?
How do I manage an employee? | How do I deal with an employee?
How do I manage a restaurant? | How do I deal with a restaurant?
How do I handle a snake? | How do I deal with a snake?
How do I manage a team? | How do I cope with a team?
How do I manage my boss? | How do I handle my boss?
How do I furnish an apartment? | How do I provide an apartment?
How do I solve a Rubik's cube? | How do I fix a Rubik's cube?
How do I solve a crossword? | How do I fix a crossword?
Can my tuition be refunded? | Can my tuition be reimbursed?
Does my company refund tuition? | Does my company reimburse tuition?
Can my company reimburse my ticket? | Can my company refund my ticket?
How do I clear the table? | How do I wipe the table?
How do I clear the windshield? | How do I wipe the windshield?
How do I wipe my iPad? | How do I clear my iPad?
How do I purge a guest list? | How do I clear a guest list?
How do I work out at home? | How do I calculate at home?
How do I work out? | How do I calculate?
How do I loop a video? | How do I iterate a video?
What is a for loop? | What is a for iteration?
How do I clean the display? | How do I clean the show?
When does the show start? | When does the display start?
How do I clean my display? | How do I clean my show?
Is the hotel close to the beach? | Is the hotel shut to the beach?
How close is the beach? | How shut is the beach?
Do I need to report my earnings? | Do I need to publish my earnings?
Where do I report my earnings? | Where do I release my earnings?
How do I report a stolen car? | How do I publish a stolen car?
";

/// Nouns: a construction site has no pages, and a benefit may be paid out.
const NOUNS: &str = "
What is the best job site? | What is the best job website?
Do I need a hard hat on a construction site? | Do I need a hard hat on a construction website?
How do I find the site of the battle? | How do I find the website of the battle?
Which site hosts the Olympics? | Which website hosts the Olympics?
Can I withdraw from index funds? | Can I withdraw from index money?
How do I withdraw mutual funds? | How do I withdraw mutual money?
What is the cost of capital? | What is the price of capital?
What is the cost of production? | What is the price of production?
What is the height of the dam? | What is the elevation of the dam?
What is the height of the building? | What is the elevation of the building?
What is the height of the mountain house? | What is the elevation of the mountain house?
How do I apply for unemployment benefits? | How do I apply for unemployment advantages?
How much is the Pro plan? | How much is the benefit plan?
What are the employee benefits? | What are the employee advantages?
What is the upside of Tesla stock? | What is the advantage of Tesla stock?
Are disability benefits taxable? | Are disability advantages taxable?
Can I lose my benefits? | Can I lose my advantages?
What is the benefit of the doubt? | What is the advantage of the doubt?
Is he a con? | Is he a disadvantage?
What is a pro? | What is an advantage?
How do I go pro? | How do I go advantage?
What are the benefits of a federal employee? | What are the advantages of a federal employee?
What are the benefits of my job? | What are the advantages of my job?
How do I buy a gun safe? | How do I buy gun safety?
What is a gun safe? | What is gun safety?
Is the safety on? | Is the safe on?
How do I open the safe? | How do I open the safety?
Is the movie safe for kids? | Is the movie safety for kids?
How do I load the film of a camera? | How do I load the movie of a camera?
Where can I develop film? | Where can I develop a movie?
How does garbage collection work in Java? | How does trash collection work in Java?
How do I disable garbage collection? | How do I disable trash collection?
What is the control plane? | What is the control airplane?
How do I secure the control plane? | How do I secure the control airplane?
Does sleep improve memory? | Does sleep improve RAM?
How can I improve my memory? | How can I improve my RAM?
How do I sharpen a plane? | How do I sharpen an airplane?
What was the result of the vote? | What was the consequence of the vote?
What was the result of the treaty? | What was the consequence of the treaty?
What are the zodiac signs? | What are the zodiac symptoms?
What is my star sign? | What is my star symptom?
Should I skip food? | Should I skip a meal?
How do I print directions? | How do I print instructions?
Where are the directions to the hotel? | Where are the instructions to the hotel?
Who is the school principal? | Who is the school chief?
Who is the principal? | Who is the main?
What is a primary election? | What is a main election?
Who is the police chief? | Who is the police principal?
What is a primary school? | What is a main school?
I forgot my iPhone passcode, what do I do? | I forgot my iPhone password, what do I do?
How do I change the passcode on my iPhone? | How do I change the password on my iPhone?
How do I fix a lift? | How do I fix an elevator?
How do I get a lift to the airport? | How do I get an elevator to the airport?
Where is the store? | Where is the storage?
Does the hotel offer a lift to the airport? | Does the hotel have an elevator to the airport?
Is there a lift in the ski resort? | Is there an elevator in the ski resort?
How much weight can I lift? | How much weight can I elevator?
How do I store my boat? | How do I storage my boat?
What is the mean of the data? | What is the meaning of the data?
What is the meaning of average? | What is the mean of average?
Explain the meaning of the sample | Explain the mean of the sample
Are the free drinks good? | Are the complimentary drinks good?
What is a complimentary color? | What is a free color?
What is a dog treat? | What is a dog treatment?
How do I give a treat to my dog? | How do I give a treatment to my dog?
What are index funds? | What is index money?
How do I take a blood sample? | How do I take a blood example?
Whose fault is it? | Whose error is it?
What is a tennis fault? | What is a tennis error?
Can I wear a suit to court? | Can I wear a lawsuit to court?
Does a lawyer need a suit? | Does a lawyer need a lawsuit?
";

/// Phrases: one talks to a child, goes down the stairs and gets back from a trip.
const PHRASES: &str = "
Can a couple rent a car? | Can several rent a car?
Can I have a couple of accounts? | Can I have several accounts?
Can I have a couple of accounts? | Can I have multiple accounts?
How do I talk to my kids about drugs? | How do I contact my kids about drugs?
How do I talk to my doctor? | How do I contact my doctor?
How do I talk to my boss about a raise? | How do I contact my boss about a raise?
How do I take care of snakes? | How do I handle snakes?
How do I take care of a sick child? | How do I deal with a sick child?
How do I take care of my parents? | How do I deal with my parents?
How do I talk to my kids about military service? | How do I contact my kids about military service?
How do I turn on night mode on the camera? | How do I turn on dark mode on the camera?
How do I use night mode on iPhone? | How do I use dark mode on iPhone?
When did he come out? | When was he released?
Why is my poop coming out green? | Why is my poop released green?
Will the stain come out? | Will the stain be released?
How long does it take to get back from surgery? | How long does it take to recover from surgery?
When do I get back? | When do I recover?
How do I get back at my ex? | How do I recover at my ex?
How do I get back to the hotel? | How do I recover to the hotel?
When does the sun go down? | When does the sun drop?
How do I go down a class? | How do I drop a class?
When will the server go down? | When will the server drop?
Why did the elevator go down? | Why did the elevator drop?
Can I go down a waterfall? | Can I fall down a waterfall?
When do the kids get back from school? | When do the kids recover from school?
Why is my arm broken? | Why does my arm not work?
My leg is broken, what should I do? | My leg does not work, what should I do?
How do I know my toe is broken? | How do I know my toe does not work?
What should I do if my wrist is broken? | What should I do if my wrist does not work?
Why is my heart broken? | Why does my heart not work?
What do I do about a broken window? | What do I do about a window that does not work?
How do I submit an application on the web? | How do I submit an app on the web?
How do I submit my application by phone? | How do I submit my app by phone?
Can I submit an application on mobile? | Can I submit an app on mobile?
When should I pick tomatoes? | When should I choose tomatoes?
How do I pick a lock? | How do I choose a lock?
What color are tomatoes when I pick them? | What color are tomatoes when I choose them?
How do I pick a lock with a phone? | How do I choose a lock with a phone?
How do I fix a shelf to a wall? | How do I repair a shelf to a wall?
How do I fix a table to the floor? | How do I repair a table to the floor?
How do I fix a hook to a door? | How do I repair a hook to a door?
Why do I get random bruises? | Why do I generate random bruises?
Why do I get random emails? | Why do I generate random emails?
Can the IRS access my account? | Can the IRS log in to my account?
Does the IRS access my bank account? | Does the IRS log in to my bank account?
";

/// Who wants a sonnet does not ask what one is.
const REQUESTS: &str = "
Give me a sonnet | What is a sonnet?
Show me a coupon code | What is a coupon code?
Give me a haiku | What is a haiku?
Can you give me a haiku? | What is a haiku?
Could you show me an invoice? | What is an invoice?
Please give me a limerick | What is a limerick?
Give me coupon codes | What are coupon codes?
Show me cats | What are cats?
Give me vegan recipes | What are vegan recipes?
Tell me a joke | What is a joke?
Tell me a story | What is a story?
Please tell me a riddle | What is a riddle?
Give me money | What is money?
Show me a 20 % coupon | What is a 20 % coupon?
Can you show me pictures of Paris? | What are pictures of Paris?
";

/// A painting is no paint, and a listing is no list.
const GERUNDS: &str = "
What is heart monitoring? | What is a heart monitor?
What is dental scale? | What is dental scaling?
What is a baby monitor? | What is baby monitoring?
What is a painting? | What is paint?
How do I remove a painting? | How do I remove paint?
How much is the painting? | How much is the paint?
How do I make a listing? | How do I make a list?
How do I delete a listing? | How do I delete a list?
How do I delete a recording? | How do I delete a record?
Where can I find the recording? | Where can I find the record?
Where is the parking? | Where is the park?
Is there a park near the hotel? | Is there parking near the hotel?
How long is the training? | How long is the train?
Where is the training? | Where is the train?
How do I fix the lighting? | How do I fix the light?
What is a mapping? | What is a map?
What is a good fencing? | What is a good fence?
Where can I buy dressing? | Where can I buy a dress?
Do I need braces? | Do I need a brace?
How much do braces cost? | How much does a brace cost?
Are LED candles safe? | Are lead candles safe?
Are led lights toxic? | Are lead lights toxic?
Is the train late? | Is the training late?
Who paid for the training? | Who paid for the train?
Do I need training? | Do I need a train?
Who owns the painting? | Who owns the paint?
Is parking free? | Is the park free?
Where can I buy fencing? | Where can I buy a fence?
How do I make a salad dressing? | How do I make a salad dress?
";

/// A car seat is for a child.
const COMPOUNDS: &str = "
Where can I buy a car seat? | Where can I buy a seat in a car?
What is a car seat? | What is a seat in a car?
How do I make a child theme? | How do I make a theme for a child?
What is the book value? | What is the value of the book?
What is a queen bed? | What is a bed for a queen?
What is business class? | What is a class in business?
How do I fly business class? | How do I fly a class in business?
How do I delete a user group? | How do I delete a group of a user?
What is room temperature? | What is the room temperature?
What is room temperature? | What is the temperature of the room?
What is the face value? | What is the value of the face?
What is street food? | What is food in the street?
What is a child lock? | What is a lock for a child?
What is a parent company? | What is the company of a parent?
What is house wine? | What is the wine of the house?
What is first class? | What is the first class?
Is the child seat a car seat? | Is the child seat a seat in a car?
What is the cost of goods sold? | What is the price of goods sold?
";

/// A day is every day behind a count only.
const AMOUNTS: &str = "
How do I add a day to a date in Python? | How do I add every day to a date in Python?
Should I wait an hour between feedings? | Should I wait every hour between feedings?
Can I pause my membership a month? | Can I pause my membership every month?
Why is my period a week late? | Why is my period late every week?
Can I take a day off? | Can I take every day off?
Can I rent a car a week? | Can I rent a car weekly?
What can I do in Paris with a day left? | What can I do in Paris with every day left?
What do I owe for an hour of parking? | What do I owe for hourly parking?
When can I drink a day after surgery? | When can I drink daily after surgery?
";

/// "Possible", "myself" and "every time" change a question, and who gets a phone repaired has others do it.
const EMPTY: &str = "
What is the highest possible SAT score? | What is the highest SAT score?
What is the lowest possible temperature? | What is the lowest temperature?
Can I remove the mole myself? | Can I remove the mole?
How do I teach myself Python? | How do I teach Python?
How do I cut my hair myself? | How do I cut my hair?
Why do you ask for my PIN every time I pay? | Why do you ask for my PIN when I pay?
Why does the app crash every time I open it? | Why does the app crash when I open it?
What is a normally open relay? | What is an open relay?
What is a normally closed valve? | What is a closed valve?
How do I get my phone repaired? | How do I repair my phone?
How do I get my teeth cleaned? | How do I clean my teeth?
How do I get my document translated? | How do I translate my document?
How do I get my windshield replaced? | How do I replace my windshield?
Can I cut my own hair myself? | Can I cut my own hair?
How do I do my taxes myself? | How do I do my taxes?
How do I fix the car myself? | How do I fix the car?
How do I get my car cleaned? | How do I clean my car?
How do I get my roof fixed? | How do I fix my roof?
";

/// What the same words say in their narrow places.
const SAME: &str = "
How do I change my shipping address? | How can I update my delivery address?
How do I create a monthly budget? | How can I make a monthly budget?
What are the signs of a heart attack? | What are the symptoms of a heart attack?
How much water should I drink per day? | How much water should I drink a day?
How do I change the timeout to 30 seconds? | How do I set the timeout to 30 seconds?
How do I change my password? | How do I modify my password?
How do I solve this error? | How do I fix this error?
What is the main cause of inflation? | What is the primary cause of inflation?
How do I avoid a hangover? | How do I prevent a hangover?
How do I make a playlist? | How do I create a playlist?
What are the benefits of staking? | What are the advantages of staking?
What are the pros and cons of remote work? | What are the advantages and disadvantages of remote work?
What are the pros of remote work? | What are the benefits of remote work?
How can I avoid liquidation? | How can I prevent liquidation?
What is the elevation of Mount Everest? | What is the height of Mount Everest?
How do I make a folder in Linux? | How do I create a folder in Linux?
How much RAM does the container use? | How much memory does the container use?
How do I deal with exceptions in Java? | How do I handle exceptions in Java?
How do I talk to a human agent? | How do I contact a human agent?
How do I talk to customer support? | How do I contact customer support?
Can I get back deleted photos? | Can I recover deleted photos?
Why did the price of gold go down? | Why did the price of gold drop?
How often can I withdraw? 3 times a day? | How often can I withdraw? 3 times per day?
How many times a day should I eat? | How many times per day should I eat?
Give me the definition of inflation | What is inflation?
Give me an explanation of recursion | What is recursion?
Show me the price of ETH | What is the price of ETH?
How do I close a window in Vim? | How do I shut a window in Vim?
Can I send funds to a friend? | Can I send money to a friend?
How do I file a suit? | How do I file a lawsuit?
When does Apple report earnings? | When does Apple announce earnings?
How do I access my account? | How do I log in to my account?
How do I get a random number? | How do I generate a random number?
What is a mobile application? | What is a mobile app?
Does the policy permit pets? | Does the policy allow pets?
What is the cost of a taxi? | What is the price of a taxi?
How much does a ticket cost? | What is the price of a ticket?
How do I loop over a list in Python? | How do I iterate over a list in Python?
How do I fly a plane? | How do I fly an airplane?
Who is the actor in the film Heat? | Who is the actor in the movie Heat?
Which airline allows dogs? | Which airline permits dogs?
Is this site a scam? | Is this website a scam?
Do you have multiple accounts? | Do you have several accounts?
How do I wipe the cache? | How do I clear the cache?
How do I display a column? | How do I show a column?
Where can I find sample code? | Where can I find example code?
How long does it take to start a business? | How long does starting a business take?
How do I set up dark mode? | How do I set up a dark theme?
How do I get my passport renewed? | How do I renew my passport?
Is it legal to record a phone call in California? | Is recording a phone call legal in California?
Show me an example of a webhook payload | Give me an example of a webhook payload
How do I generate random numbers? | How do I get random numbers?
Show me the balance of my account | What is the balance of my account?
How do I change my avatar? | Where do I change my avatar?
Where do I change my password? | How do I change my password?
What is a salary of $60,000 a year after tax? | What is a salary of $60,000 per year after tax?
Can I live on $900 a month? | Can I live on $900 per month?
What is the main benefit of staking? | What is the main advantage of staking?
What is the benefit of staking? | What is the advantage of staking?
Show me all containers | List all containers
Show me my balance | What is my balance?
Can you show me the current gas price? | What is the current gas price?
";

#[test]
fn words_of_doing_with_a_second_sense_stay_apart() {
    separate(&pairs(VERBS));
}

#[test]
fn names_of_things_with_a_second_sense_stay_apart() {
    separate(&pairs(NOUNS));
}

#[test]
fn particles_and_amounts_with_a_second_sense_stay_apart() {
    separate(&pairs(PHRASES));
}

#[test]
fn a_request_for_a_thing_does_not_ask_what_it_is() {
    separate(&pairs(REQUESTS));
}

#[test]
fn nouns_that_end_in_ing_are_not_their_verbs() {
    separate(&pairs(GERUNDS));
}

#[test]
fn compounds_are_more_than_their_words() {
    separate(&pairs(COMPOUNDS));
}

#[test]
fn a_day_is_not_every_day() {
    separate(&pairs(AMOUNTS));
}

#[test]
fn words_that_look_empty_say_something() {
    separate(&pairs(EMPTY));
}

#[test]
fn the_narrow_places_still_join() {
    join(&pairs(SAME));
}

/// Nouns that are one thing in one place, and two in another.
const NOUNS_OF_TWO_SENSES: &str = "
Is a dentist a doctor? | Is a dentist a physician?
Is Angela Merkel a doctor? | Is Angela Merkel a physician?
Can a doctor teach at a university? | Can a physician teach at a university?
Is a Mac a PC? | Is a Mac a computer?
Does iTunes work on any PC? | Does iTunes work on any computer?
What is a motion picture? | What is a motion photo?
How do I draw a picture? | How do I draw a photo?
How long does it take to draw a picture? | How long does it take to draw a photo?
How do I print a picture book? | How do I print a photo book?
How do I write a picture book? | How do I write a photo book?
What is a buy order? | What is a purchase order?
How do I cancel a buy order? | How do I cancel a purchase order?
How do I remove a device from iCloud? | How do I erase a device from iCloud?
";

#[test]
fn nouns_of_two_senses_are_synonyms_beside_certain_words_only() {
    separate(&pairs(NOUNS_OF_TWO_SENSES));
    join(&[
        (
            "Which doctor can prescribe medicine?",
            "Which physician can prescribe medicine?",
        ),
        ("Why is my computer slow?", "Why is my PC slow?"),
        ("How do I upload a photo?", "How do I upload a picture?"),
        (
            "How do I take a photo at night?",
            "How do I take a picture at night?",
        ),
        ("Where can I buy shoes?", "Where can I purchase shoes?"),
        ("How do I erase a file?", "How do I delete a file?"),
    ]);
}
