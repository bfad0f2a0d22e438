(* Theorem ensemble distance of models/mathematics.md, where members have a distance for every class: a turn of member i from
   its label to class c costs d_ic, and 0 for the label. How the program finds the least cost at which b stands before a is a
   knapsack over the votes gained (models/privacy/aggregate.cpp, overtaking_cost_per_class). *)
From Coq Require Import List Lia Arith Bool.
From Holdfast Require Import ensemble_distance.
Import ListNotations.

Definition member : Type := nat * (nat -> nat).           (* label, costs *)
Definition labels (e : list member) := map fst e.
Definition sound (e : list member) := Forall (fun m => snd m (fst m) = 0) e.
Fixpoint cost (e : list member) (v : list nat) : nat := match e, v with m :: e, l :: v => snd m l + cost e v | _, _ => 0 end.
(* one changed record: of one member every distance moves by one at most *)
Definition neighbours (e e' : list member) : Prop := exists before m m' after, e = before ++ m :: after /\ e' = before ++ m' :: after /\
  forall c, snd m c <= snd m' c + 1 /\ snd m' c <= snd m c + 1.

Section Distance.
Variable winner : list nat -> nat.
Definition goal (e : list member) (v : list nat) := length v = length e /\ winner v <> winner (labels e).
Definition distance (e : list member) (K : nat) := exists k, (exists v, goal e v /\ cost e v = k) /\ (forall v, goal e v -> k <= cost e v) /\ K = k - 1.

Lemma dearer b m m' a v : (forall c, snd m' c <= snd m c + 1) -> length v = length (b ++ m :: a) -> cost (b ++ m' :: a) v <= cost (b ++ m :: a) v + 1.
Proof.
  intros H. revert v. induction b; intros [|x v] L; simpl in *; try lia.
  - specialize (H x). lia.
  - specialize (IHb v ltac:(lia)). lia.
Qed.
Lemma own e : sound e -> cost e (labels e) = 0.
Proof. intros S. induction S as [|m e H S IH]; simpl; [reflexivity|]. rewrite H, IH. reflexivity. Qed.
Lemma near_sym e e' : neighbours e e' -> neighbours e' e.
Proof. intros (b & m & m' & a & -> & -> & H). exists b, m', m, a. repeat split; apply H. Qed.
Lemma near_length e e' : neighbours e e' -> length e = length e'.
Proof. intros (b & m & m' & a & -> & -> & _). rewrite !app_length. reflexivity. Qed.
Lemma near_dearer e e' v : neighbours e e' -> length v = length e -> cost e' v <= cost e v + 1.
Proof. intros (b & m & m' & a & -> & -> & H) L. apply dearer; [apply H|exact L]. Qed.
(* the other side's labels cost one at most *)
Lemma turning_back e e' : neighbours e e' -> sound e' -> cost e (labels e') <= 1.
Proof.
  intros N S. pose proof (near_dearer e' e (labels e') (near_sym _ _ N)) as H. unfold labels in H at 1. rewrite map_length, (own e' S) in H. apply H. reflexivity.
Qed.
Theorem distances_by_class : forall e e' K K', neighbours e e' -> sound e -> sound e' -> distance e K -> distance e' K' ->
  K <= K' + 1 /\ K' <= K + 1 /\ (1 <= K \/ 1 <= K' -> winner (labels e) = winner (labels e')).
Proof.
  assert (G : forall e e', neighbours e e' -> winner (labels e) <> winner (labels e') -> goal e (labels e')).
  { intros e e' N W. split; [unfold labels; rewrite map_length; symmetry; apply near_length; exact N|auto]. }
  assert (low : forall e e' K, neighbours e e' -> sound e' -> distance e K -> winner (labels e) <> winner (labels e') -> K = 0).
  { intros e e' K N S (k & _ & Least & ->) W. pose proof (Least _ (G e e' N W)). pose proof (turning_back e e' N S). lia. }
  assert (main : forall e e' K K', neighbours e e' -> sound e' -> distance e K -> distance e' K' -> K <= K' + 1).
  { intros e e' K K' N S D D'. destruct (Nat.eq_dec (winner (labels e)) (winner (labels e'))) as [W|W]; [|rewrite (low e e' K N S D W); lia].
    destruct D as (k & _ & Least & ->). destruct D' as (k' & (v & (Lv & Gv) & <-) & _ & ->).
    assert (goal e v) as Gev by (split; [rewrite (near_length _ _ N)|rewrite W]; auto).
    pose proof (Least v Gev). pose proof (near_dearer e' e v (near_sym _ _ N) Lv). lia. }
  intros e e' K K' N S S' D D'. split; [apply (main e e'); assumption|]. split; [apply (main e' e); auto using near_sym|].
  intros H. destruct (Nat.eq_dec (winner (labels e)) (winner (labels e'))) as [W|W]; [exact W|exfalso].
  rewrite (low e e' K N S' D W), (low e' e K' (near_sym _ _ N) S D' (not_eq_sym W)) in H. lia.
Qed.
End Distance.

(* ---- The knapsack: costs, or None where there is none ---- *)
Definition least (x y : option nat) := match x, y with Some a, Some b => Some (Nat.min a b) | Some a, None => Some a | None, y => y end.
Definition plus (x : option nat) (n : nat) := match x with Some a => Some (a + n) | None => None end.
Lemma least_l x y c : x = Some c -> exists c', least x y = Some c' /\ c' <= c.
Proof. intros ->. destruct y; simpl; eexists; split; eauto; lia. Qed.
Lemma least_r x y c : y = Some c -> exists c', least x y = Some c' /\ c' <= c.
Proof. intros ->. destruct x; simpl; eexists; split; eauto; lia. Qed.
Lemma least_one x y c : least x y = Some c -> x = Some c \/ y = Some c.
Proof. destruct x as [a|], y as [b|]; simpl; intros H; inversion H; subst; auto. destruct (Nat.min_spec a b) as [(_ & ->)|(_ & ->)]; auto. Qed.

Section Knapsack.
Variables C a b : nat.
Hypothesis Hab : a <> b.
Hypothesis Hb : b < C.
Definition third (c : nat) := negb (c =? a) && negb (c =? b) && (c <? C).
(* an a-voter to the cheapest third class *)
Fixpoint away (d : nat -> nat) (n : nat) : option nat := match n with O => None | S c => least (if third c then Some (d c) else None) (away d c) end.
(* knapsack e gain: the least cost of turns that gain so much for b on a *)
Fixpoint knapsack (e : list member) (gain : nat) : option nat :=
  match e with
  | [] => if gain =? 0 then Some 0 else None
  | (l, d) :: e =>
    if l =? b then knapsack e gain
    else if l =? a then least (knapsack e gain) (least (plus (knapsack e (gain - 2)) (d b)) (match away d C with Some x => plus (knapsack e (gain - 1)) x | None => None end))
    else least (knapsack e gain) (plus (knapsack e (gain - 1)) (d b))
  end.
Definition gains (e : list member) (v : list nat) (gain : nat) := count a v + count b (labels e) + gain <= count b v + count a (labels e).

Lemma away_some d n c : away d n = Some c -> exists x, third x = true /\ d x = c.
Proof. induction n as [|n IH]; simpl; [discriminate|]. intros H. apply least_one in H. destruct H as [H|H]; [|auto]. destruct (third n) eqn:E; [|discriminate]. inversion H. eauto. Qed.
Lemma away_least d n x : x < n -> third x = true -> exists c, away d n = Some c /\ c <= d x.
Proof.
  induction n as [|n IH]; intros H E; [lia|]. simpl. destruct (Nat.eq_dec x n) as [->|]; [rewrite E; apply least_l; reflexivity|].
  destruct (IH ltac:(lia) E) as (c & A & L). destruct (least_r (if third n then Some (d n) else None) _ _ A) as (c' & B & L'). exists c'. split; [exact B|lia].
Qed.
Lemma third_spec x : third x = true <-> x <> a /\ x <> b /\ x < C.
Proof. unfold third. rewrite !andb_true_iff, !negb_true_iff, !Nat.eqb_neq, Nat.ltb_lt. tauto. Qed.

(* its turns are there, … *)
Lemma knapsack_reached : forall e gain c, sound e -> knapsack e gain = Some c -> exists v, length v = length e /\ cost e v = c /\ gains e v gain.
Proof.
  unfold gains, labels. induction e as [|(l, d) e IH]; intros gain c S H; simpl in H.
  - destruct (Nat.eqb_spec gain 0); [|discriminate]. inversion H. exists []. repeat split; simpl; lia.
  - inversion_clear S as [|? ? S1 S2]. cbn [fst snd] in S1.
    assert (keep : knapsack e gain = Some c -> exists v, length v = length ((l, d) :: e) /\ cost ((l, d) :: e) v = c /\
      count a v + count b (map fst ((l, d) :: e)) + gain <= count b v + count a (map fst ((l, d) :: e))).
    { intros K. destruct (IH _ _ S2 K) as (v & L & Co & G). exists (l :: v). simpl. rewrite S1. split; [f_equal; exact L|]. split; lia. }
    assert (turn : forall x n g, knapsack e (gain - g) = Some n -> d x + n = c ->
      (if x =? a then 1 else 0) + (if l =? b then 1 else 0) + g <= (if x =? b then 1 else 0) + (if l =? a then 1 else 0) ->
      exists v, length v = length ((l, d) :: e) /\ cost ((l, d) :: e) v = c /\ count a v + count b (map fst ((l, d) :: e)) + gain <= count b v + count a (map fst ((l, d) :: e))).
    { intros x n g K E G. destruct (IH _ _ S2 K) as (v & L & Co & Gv). exists (x :: v). simpl. split; [f_equal; exact L|]. split; lia. }
    destruct (Nat.eqb_spec l b) as [->|Nb]; [apply keep; exact H|]. destruct (Nat.eqb_spec l a) as [->|Na]; apply least_one in H; destruct H as [H|H]; try (apply keep; exact H).
    + apply least_one in H. destruct H as [H|H].
      * destruct (knapsack e (gain - 2)) as [n|] eqn:K; [|discriminate]. simpl in H. injection H as H. apply (turn b n 2 K); [lia|]. rewrite ?Nat.eqb_refl.
        destruct (Nat.eqb_spec b a); [congruence|]. destruct (Nat.eqb_spec a b); [congruence|]. lia.
      * destruct (away d C) as [x|] eqn:A; [|discriminate]. destruct (away_some _ _ _ A) as (y & Ty & Dy). apply third_spec in Ty.
        destruct (knapsack e (gain - 1)) as [n|] eqn:K; [|discriminate]. simpl in H. injection H as H. apply (turn y n 1 K); [lia|]. rewrite ?Nat.eqb_refl.
        destruct (Nat.eqb_spec y a), (Nat.eqb_spec y b), (Nat.eqb_spec a b); lia.
    + destruct (knapsack e (gain - 1)) as [n|] eqn:K; [|discriminate]. simpl in H. injection H as H. apply (turn b n 1 K); [lia|]. rewrite ?Nat.eqb_refl.
      destruct (Nat.eqb_spec b a), (Nat.eqb_spec l b), (Nat.eqb_spec l a); congruence || lia.
Qed.
(* … and none are cheaper. *)
Lemma knapsack_0 e : knapsack e 0 = Some 0.
Proof. induction e as [|(l, d) e IH]; [reflexivity|]. simpl. rewrite IH. destruct (l =? b), (l =? a); simpl; [reflexivity|reflexivity| |reflexivity]. destruct (away d C); reflexivity. Qed.
Lemma knapsack_least : forall e gain v, length v = length e -> Forall (fun x => x < C) v -> gains e v gain -> exists c, knapsack e gain = Some c /\ c <= cost e v.
Proof.
  unfold gains, labels. induction e as [|(l, d) e IH]; intros gain [|x v] L F G; simpl in L; try lia.
  - simpl in *. destruct (Nat.eqb_spec gain 0); [|lia]. exists 0. auto.
  - inversion_clear F as [|? ? F1 F2]. simpl in G. cbn [cost snd knapsack].
    assert (tail : forall g, (if x =? b then 1 else 0) + (if l =? a then 1 else 0) <= (if x =? a then 1 else 0) + (if l =? b then 1 else 0) + g ->
      exists c, knapsack e (gain - g) = Some c /\ c <= cost e v) by (intros g Hg; destruct (Nat.le_gt_cases gain g); [exists 0; replace (gain - g) with 0 by lia; split; [apply knapsack_0|lia]|apply IH; [injection L as L; exact L|exact F2|lia]]).
    assert (none : (if x =? b then 1 else 0) + (if l =? a then 1 else 0) <= (if x =? a then 1 else 0) + (if l =? b then 1 else 0) -> exists c, knapsack e gain = Some c /\ c <= d x + cost e v).
    { intros Hg. destruct (tail 0 ltac:(lia)) as (c & K & Le). rewrite Nat.sub_0_r in K. exists c. split; [exact K|lia]. }
    destruct (Nat.eqb_spec l b) as [->|Nb].
    + apply none. rewrite ?Nat.eqb_refl. destruct (Nat.eqb_spec b a), (x =? b), (x =? a); congruence || lia.
    + destruct (Nat.eqb_spec l a) as [->|Na].
      * destruct (Nat.eqb_spec x b) as [->|Xb].
        -- destruct (tail 2 ltac:(rewrite ?Nat.eqb_refl; destruct (b =? a); lia)) as (c & K & Le). rewrite K. cbn [plus].
           destruct (least_l (Some (c + d b)) (match away d C with Some y => plus (knapsack e (gain - 1)) y | None => None end) _ eq_refl) as (c1 & E1 & L1).
           rewrite E1. destruct (least_r (knapsack e gain) _ _ (eq_refl (Some c1))) as (c2 & E2 & L2). exists c2. split; [exact E2|lia].
        -- destruct (Nat.eqb_spec x a) as [->|Xa].
           ++ destruct none as (c & K & Le); [destruct (Nat.eqb_spec a b); congruence || lia|]. destruct (least_l _ (least (plus (knapsack e (gain - 2)) (d b)) (match away d C with Some y => plus (knapsack e (gain - 1)) y | None => None end)) _ K) as (c2 & E2 & L2).
              exists c2. split; [exact E2|lia].
           ++ destruct (tail 1 ltac:(lia)) as (c & K & Le). destruct (away_least d C x F1 ltac:(apply third_spec; auto)) as (y & A & Ly). rewrite A, K. cbn [plus].
              destruct (least_r (plus (knapsack e (gain - 2)) (d b)) _ _ (eq_refl (Some (c + y)))) as (c1 & E1 & L1). rewrite E1.
              destruct (least_r (knapsack e gain) _ _ (eq_refl (Some c1))) as (c2 & E2 & L2). exists c2. split; [exact E2|lia].
      * destruct (Nat.eqb_spec x b) as [->|Xb].
        -- destruct (tail 1 ltac:(destruct (b =? a); lia)) as (c & K & Le). rewrite K. cbn [plus].
           destruct (least_r (knapsack e gain) _ _ (eq_refl (Some (c + d b)))) as (c2 & E2 & L2). exists c2. split; [exact E2|lia].
        -- destruct none as (c & K & Le); [lia|]. destruct (least_l _ (plus (knapsack e (gain - 1)) (d b)) _ K) as (c2 & E2 & L2). exists c2. split; [exact E2|lia].
Qed.
Theorem knapsack_is_the_least_cost : forall e gain, sound e ->
  match knapsack e gain with
  | Some c => (exists v, length v = length e /\ cost e v = c /\ gains e v gain) /\ (forall v, length v = length e -> Forall (fun x => x < C) v -> gains e v gain -> c <= cost e v)
  | None => forall v, length v = length e -> Forall (fun x => x < C) v -> ~ gains e v gain
  end.
Proof.
  intros e gain S. destruct (knapsack e gain) as [c|] eqn:K.
  - split; [apply knapsack_reached; assumption|]. intros v L F G. destruct (knapsack_least e gain v L F G) as (c' & K' & Le). rewrite K in K'. inversion K'. lia.
  - intros v L F G. destruct (knapsack_least e gain v L F G) as (c' & K' & _). congruence.
Qed.
End Knapsack.

(* what aggregate() makes of it: the cheapest rival of the winner, less one *)
Definition distance_by_class (C : nat) (e : list member) : option nat :=
  let a := winner C (labels e) in
  let needed b := count a (labels e) + (if tie C b a then 0 else 1) - count b (labels e) in
  match fold_right least None (map (fun b => if b =? a then None else knapsack C a b e (needed b)) (seq 0 C)) with Some k => Some (k - 1) | None => None end.

(* ---- Examples, and wrong statements refuted ---- *)
Definition turns (l x y z : nat) : member := (l, fun c => match c with 0 => x | 1 => y | _ => z end).
Definition pair : list member := [turns 0 0 1 4; turns 1 2 0 3].
Definition pair' : list member := [turns 0 0 2 3; turns 1 2 0 3].
Example distances_by_class_example : neighbours pair pair' /\ sound pair /\ sound pair'.
Proof. split; [exists [], (turns 0 0 1 4), (turns 0 0 2 3), [turns 1 2 0 3]; repeat split; intros; destruct c as [|[|c]]; simpl; lia|]. split; repeat constructor. Qed.
Example knapsack_is_the_least_cost_example : sound pair /\ knapsack 3 0 1 pair 1 = Some 1 /\ knapsack 3 0 1 pair 3 = None.
Proof. repeat split; repeat constructor. Qed.
(* A cost that moves by two. *)
Fact distances_by_class_mutant : ~ cost [turns 0 0 3 0] [1] <= cost [turns 0 0 1 0] [1] + 1.
Proof. simpl. lia. Qed.
(* Without turns to third classes. *)
Fact knapsack_is_the_least_cost_mutant : let e := [turns 0 0 9 1] in plus (Some 0) 9 <> knapsack 3 0 1 e 1 /\ knapsack 3 0 1 e 1 = Some 1.
Proof. split; [discriminate|reflexivity]. Qed.
